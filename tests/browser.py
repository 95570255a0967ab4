"""A real Chromium without a window, driven over two pipes: no driver, no network port."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from itertools import count

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
]
_PATIENCE = 120  # seconds; the machine may be busy


def executable():
    """Path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in a browser of its own; everything it complains of is kept in `complaints`."""

    def __init__(self, width=1280, height=800):
        self._profile = tempfile.mkdtemp(prefix="naively-browser-")
        down_read, self._down = os.pipe()
        self._up, up_write = os.pipe()
        # The browser expects its two pipes as descriptors 3 and 4.
        shell = f'exec "$0" "$@" 3<&{down_read} 4>&{up_write}'
        command = [executable(), *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, *command],
            pass_fds=(down_read, up_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(down_read)
        os.close(up_write)
        self._numbers, self._rest, self._session = count(1), b"", None
        self.complaints, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._down)
        os.close(self._up)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._down, data) :]
        answer = self._until(lambda each: each.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _until(self, wanted):
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            message = self._receive()
            self._note(message)
            if wanted(message):
                return message
        raise TimeoutError("the browser does not answer")

    def _receive(self):
        while b"\0" not in self._rest:
            part = os.read(self._up, 1 << 20)
            if not part:
                raise OSError("the browser has gone")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params")
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"])
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(parameters["args"])
        if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"])
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, path):
        self.call("Page.navigate", url=path.absolute().as_uri())
        self._until(lambda each: each.get("method") == "Page.loadEventFired")

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def scheme(self, name, media=""):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def value(self, expression):
        """Value of an expression in JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def point(self, selector, x=0.5, y=0.5):
        """Place in the window of a part of an element, scrolled into view."""
        return self.value(
            f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center", behavior: "instant"}});
            const b = e.getBoundingClientRect();
            return [b.left + {x} * b.width, b.top + {y} * b.height]; }})()"""
        )

    def _mouse(self, kind, place, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **more)

    def hover(self, selector, x=0.5, y=0.5):
        self._mouse("mouseMoved", self.point(selector, x, y))

    def click(self, selector, x=0.5, y=0.5):
        place = self.point(selector, x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, place, button="left", clickCount=1)

    def key(self, name, text=None):
        more = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, *, whole=False):
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def printed(self):
        """Bytes of the page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
