"""Compiles the kernels to `kernels.ptx`, which the crate carries.

Needs NVRTC and nothing else; an older one makes PTX that older drivers take:
`pip install nvidia-cuda-nvrtc-cu12==12.1.105`
"""

import ctypes
import pathlib

import nvidia.cuda_nvrtc

HERE = pathlib.Path(__file__).parent
SOURCES = ["common.cu", "lstm.cu", "cell.cu", "rows.cu", "loss.cu"]
OPTIONS = [b"--gpu-architecture=compute_80", b"--std=c++17"]


def digest(text: bytes) -> int:
    """FNV-1a, so that a test can tell whether the sources have changed since."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def main() -> None:
    folder = pathlib.Path(list(nvidia.cuda_nvrtc.__path__)[0]) / "lib"
    nvrtc = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))
    source = b"".join((HERE / name).read_bytes() for name in SOURCES)
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
    failed = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if log.value.strip():
        print(log.value.decode())
    if failed:
        raise SystemExit("the kernels do not compile")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    head = f"// Made by make.py from sources of digest {digest(source):016x}.\n"
    (HERE / "kernels.ptx").write_bytes(head.encode() + ptx.value.strip(b"\0\n") + b"\n")


if __name__ == "__main__":
    main()
