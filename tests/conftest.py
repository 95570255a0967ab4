from hypothesis import settings

settings.register_profile(
    "naively", deadline=None, derandomize=True
)  # kernels compile at first use
settings.load_profile("naively")
