"""Compression by content, errors in one sentence, and files that appear whole or not at all."""

import bz2
import errno
import gzip
import io
import lzma
import os

import pyarrow as pa
import pytest

from naively._nearest import nearest
from naively.io.errors import InputError, OutputError, reason
from naively.io.files import (
    atomic_directory,
    atomic_file,
    check_directory,
    fingerprint,
    open_input,
    read_lines,
)
from naively.io.formats import format_by_name, format_of
from naively.text.labels import clean

CONTENT = "text\tlabel\nfein, süß\tja\n".encode()
NAMES = ("one.txt", "two.txt")


def lines_of(path, encoding="utf-8"):
    with open_input(path) as file:
        return list(read_lines(file, encoding))


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", ["", *PACKERS])
@pytest.mark.parametrize("named", [True, False])
def test_content_decides_on_decompression(tmp_path, suffix, named):
    path = tmp_path / ("table.tsv" + (suffix if named else ""))
    path.write_bytes(PACKERS.get(suffix, bytes)(CONTENT))
    assert "".join(lines_of(path)) == CONTENT.decode()


def test_zstd_through_the_arrow_extra(tmp_path):
    path = tmp_path / "table.tsv.zst"
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(CONTENT)
    assert "".join(lines_of(path)) == CONTENT.decode()


def test_file_objects_are_read_and_left_open():
    stream = io.BytesIO(gzip.compress(CONTENT))
    with open_input(stream) as file:
        assert b"".join(file.stream) == CONTENT
    assert not stream.closed


def test_name_that_promises_compression_over_other_content(tmp_path):
    path = tmp_path / "table.tsv.gz"
    path.write_bytes(CONTENT)
    with pytest.raises(InputError, match=r"table\.tsv\.gz.*not gz data.*take `\.gz` off"):
        lines_of(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_data_cut_off_names_the_last_good_line(tmp_path, suffix):
    lines = b"".join(b"line %d %d\n" % (i, hash(str(i)) % 97) for i in range(20000))
    packed = PACKERS[suffix](lines)
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"broken or cut off.*get the file again"):
        lines_of(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_damaged_data(tmp_path, suffix):
    packed = bytearray(PACKERS[suffix](os.urandom(5000)))
    for i in range(len(packed) // 2, len(packed) // 2 + 50):
        packed[i] ^= 0xFF
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"broken or cut off|is not utf-8"):
        lines_of(path)


def test_undecodable_bytes_name_the_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a\nb\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"line 3: byte 0xe9 is not utf-8; .*--encoding latin-1"):
        lines_of(path)
    assert lines_of(path, "latin-1")[2] == "café\n"


def test_byte_order_marks(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("a,b\n".encode("utf-8-sig"))
    assert lines_of(path) == ["a,b\n"]
    path.write_bytes("a,b\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"UTF-16; read it with --encoding utf-16"):
        lines_of(path)
    assert lines_of(path, "utf-16") == ["a,b\n"]


def test_unknown_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x\n")
    with pytest.raises(InputError, match="`--encoding` must be an encoding"):
        lines_of(tmp_path / "a.csv", "utf-99")


def test_missing_file_suggests_the_nearest(tmp_path):
    (tmp_path / "reviews.tsv").touch()
    with pytest.raises(InputError, match=r"no such file; did you mean `reviews\.tsv`\?"):
        lines_of(tmp_path / "review.tsv")


def test_folder_instead_of_file(tmp_path):
    with pytest.raises(InputError, match="it is a folder"), open_input(tmp_path):
        pass


def test_permission_denied(tmp_path, monkeypatch):
    def refuse(*_args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything, so it is acted
    with pytest.raises(InputError, match=r"secret\.csv: permission denied"):
        lines_of(tmp_path / "secret.csv")


def test_fingerprint_is_that_of_the_stored_bytes(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert fingerprint(path).sha256 == known  # FIPS 180-2, appendix B.1
    assert (fingerprint(path).name, fingerprint(path).size) == ("a.txt", 3)


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.TSV.gz", "tsv"), ("a.jsonl", "jsonl"), ("a.b.parquet", "parquet"), ("a.npz", "npz")],
)
def test_formats_by_name(name, format):
    assert format_by_name(name) == format


def test_unknown_format_says_how_to_give_it():
    with pytest.raises(InputError, match=r"data\.xyz: .*--format csv\|tsv"):
        format_of("data.xyz")


def test_nearest_prefers_similar_names_and_ignores_case():
    assert nearest("Lable", ["text", "label"]) == "did you mean `label`?"
    assert nearest("TEXT", ["text", "label"]) == "did you mean `text`?"
    assert nearest("zzz", ["text", "label"]) == "it has `text`, `label`."
    assert nearest("q", [f"column{i}" for i in range(12)]).endswith("and 2 more.")


def test_halves_of_surrogate_pairs_become_replacement_characters():
    assert clean("a\ud83d") == "a\ufffd\ufffd\ufffd"
    assert clean("süß 😀") == "süß 😀"


# Writing ---------------------------------------------------------------------------------------


def leftovers(folder):
    return sorted(each.name for each in folder.iterdir())


def test_file_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "labels.csv"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half_a_file(target)
    assert target.read_text() == "old"
    with atomic_file(target) as file:
        file.write(b"new")
    assert target.read_text() == "new"
    assert leftovers(tmp_path) == ["labels.csv"]
    assert target.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def write_half_a_file(target):
    with atomic_file(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(errno.ENOSPC, "full")])
def test_interrupted_folder_leaves_nothing(tmp_path, error):
    target = tmp_path / "a" / "b" / "result"
    expected = OutputError if isinstance(error, OSError) else error
    with pytest.raises(expected):
        fill_half(target, error)
    assert leftovers(tmp_path) == []


def fill_half(target, error):
    with atomic_directory(target, NAMES) as folder:
        (folder / "one.txt").write_text("half")
        raise error


def fill(folder, content="new"):
    for name in NAMES:
        (folder / name).write_text(content)


def test_new_and_empty_folders_are_filled(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        with atomic_directory(tmp_path / name, NAMES) as folder:
            fill(folder)
        assert leftovers(tmp_path / name) == list(NAMES)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o777 & ~current_umask()
    assert leftovers(tmp_path) == ["empty", "new"]


def test_earlier_result_is_replaced_and_kept_if_the_new_one_fails(tmp_path):
    target = tmp_path / "result"
    target.mkdir()
    fill(target, "old")
    with pytest.raises(KeyboardInterrupt):
        fill_half(target, KeyboardInterrupt)
    assert leftovers(target) == list(NAMES)
    assert (target / "one.txt").read_text() == "old"
    with atomic_directory(target, NAMES) as folder:
        fill(folder)
    assert [(target / name).read_text() for name in NAMES] == ["new", "new"]
    assert leftovers(tmp_path) == ["result"]


@pytest.mark.parametrize("content", [["thesis.tex"], ["one.txt"], [*NAMES, "thesis.tex"]])
def test_folder_with_other_files_needs_force_and_keeps_them(tmp_path, content):
    for name in content:
        (tmp_path / name).write_text("precious")
    with pytest.raises(OutputError, match=r"not empty.*--force"):
        check_directory(tmp_path, NAMES)
    with atomic_directory(tmp_path, NAMES, force=True) as folder:
        fill(folder)
    assert leftovers(tmp_path) == sorted({*NAMES, *content})
    assert all((tmp_path / name).read_text() == "new" for name in NAMES)
    if "thesis.tex" in content:
        assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_folder_that_cannot_be_renamed_gets_its_files_one_by_one(tmp_path, monkeypatch):
    target = tmp_path / "mounted"
    target.mkdir()
    fill(target, "old")
    real = type(target).rename

    def rename(self, to):
        if self == target:
            raise OSError(errno.EBUSY, "Device or resource busy")
        return real(self, to)

    monkeypatch.setattr(type(target), "rename", rename)
    with atomic_directory(target, NAMES) as folder:
        fill(folder)
    assert [(target / name).read_text() for name in NAMES] == ["new", "new"]
    assert leftovers(target) == list(NAMES)


def test_link_to_a_folder_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "result").symlink_to(tmp_path / "disk")
    with atomic_directory(tmp_path / "result", NAMES) as folder:
        fill(folder)
    assert (tmp_path / "result").is_symlink()
    assert leftovers(tmp_path / "disk") == list(NAMES)


def test_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "result").touch()
    with pytest.raises(OutputError, match="a file of this name exists"):
        check_directory(tmp_path / "result", NAMES)
    with pytest.raises(OutputError, match="it is a folder; name a file"), atomic_file(tmp_path):
        pass


def test_reasons_are_words():
    assert "no space left" in reason(OSError(errno.ENOSPC, "x"))
    assert reason(OSError(errno.EXDEV, "cross-device link")) == "cross-device link"


def test_pipe_is_written_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with atomic_file(pipe) as file:
            file.write(b"answers")
        assert os.read(reader, 100) == b"answers"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_names_that_no_file_has(name):
    with pytest.raises(OutputError, match="`--out` must be the name"), atomic_file(name):
        pass


@pytest.mark.parametrize("encoding", ["utf-16", "punycode", "undefined", "a\0b"])
def test_encodings_that_fail_in_their_own_way(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text\xff,label\n")
    with pytest.raises(InputError, match="encoding"):
        lines_of(path, encoding)


def test_every_name_of_utf_8_takes_the_mark_off(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbftext\n")
    assert lines_of(path, "U8") == ["text\n"]
