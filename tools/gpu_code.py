#!/usr/bin/env python3
"""Compiles the GPU kernels as `pando` does, without a GPU, and checks the code: docs/gpu.md.

usage: gpu_code.py FOLDER   (with the unpacked compilers of scripts/gpu-code; code and logs go there too)
"""
import collections
import ctypes
import itertools
import pathlib
import re
import subprocess
import sys

NVIDIA = (75, 80, 86, 89, 90, 120)
AMD = ("gfx1030", "gfx90a")
AMD_LIBRARIES = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
AMD_LANGUAGES = {
    "cl": ("-x", "cl", "-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt", "-target", "amdgcn-amd-amdhsa",
           "-mcpu={}", "-Xclang", "-finclude-default-header"),
    "hip": ("-x", "hip", "-nogpuinc", "--cuda-device-only", "--offload-arch={}"),
}
ROOT = pathlib.Path(__file__).resolve().parent.parent
# Kernels that multiply integers: by tensor cores with s8 mma instructions, else four at a time.
INTEGERS = re.compile(r"(few|many)_(bytes|fives|sixes|integer_rows|nibbles|table)$")
FIRST_MMA = 80
# PTX that rounds each operation by itself, as docs/arithmetic.md has it.
ROUNDED = re.compile(r"(add|sub|mul|fma|div|sqrt)\.rn\.f32")
ARITHMETIC = re.compile(r"\s((?:add|sub|mul|mad|fma|div|sqrt|rcp|rsqrt|ex2|lg2|sin|cos|tanh)\.[a-z0-9.]*f32)\s")


def kernel_text(folder):
    """The text that the build puts into the program."""
    made = folder / "kernel_text.cc"
    subprocess.run(["cmake", f"-DFOLDER={ROOT}/src/exec/gpu/kernels", f"-DOUT={made}", "-P",
                    ROOT / "cmake/write_kernels.cmake"], check=True)
    return re.search(r'R"PANDO-KERNELS\((.*)\)PANDO-KERNELS"', made.read_text(), re.DOTALL)[1]


class Nvrtc:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        # The program's own options.
        source = (ROOT / "src/exec/gpu/nvrtc.cc").read_text()
        self.options = re.findall(r'"(--(?:fmad|ftz|prec-div|prec-sqrt)=[a-z]+)"', source)
        assert len(self.options) == 4, self.options

    def compile(self, text, number):
        """Log, PTX and machine code."""
        program = ctypes.c_void_p()
        options = [o.encode() for o in [f"--gpu-architecture=sm_{number}", "--ptxas-options=-v", *self.options]]
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None) == 0
        code = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.read(program, "ProgramLog").decode(errors="replace")
        if code != 0:
            raise SystemExit(log)
        parts = log, self.read(program, "PTX").decode().rstrip("\0"), self.read(program, "CUBIN")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return parts

    def read(self, program, what):
        n = ctypes.c_size_t()
        assert getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(n)) == 0
        bytes_read = ctypes.create_string_buffer(n.value)
        assert getattr(self.library, f"nvrtcGet{what}")(program, bytes_read) == 0
        return bytes_read.raw


def problems_of_log(log):
    for name, stores, loads in re.findall(
            r"properties for (\w+)\n.* (\d+) bytes spill stores, (\d+) bytes spill loads", log):
        if stores != "0" or loads != "0":
            yield f"{name} spills: {stores} bytes of stores, {loads} of loads"


def ptx_of_kernels(ptx):
    return dict(re.findall(r"\.entry (\w+)\((.*?\n\})", ptx, re.DOTALL))


def problems_of_ptx(ptx):
    for name, body in ptx_of_kernels(ptx).items():
        if ".ftz" in body:
            yield f"{name} flushes denormals to zero"
        for operation in sorted(set(ARITHMETIC.findall(body))):
            if not ROUNDED.fullmatch(operation):
                yield f"{name} has {operation}, expected an operation that is rounded by itself"


def sass_of_kernels(sass):
    """Machine code by kernel, without the routines of division and root after it."""
    return {name: body.split("$__internal", 1)[0]
            for name, body in re.findall(r"\n\.text\.(\w+):\n(.*?)(?=\n\t\.section|\Z)", sass, re.DOTALL)}


def problems_of_sass(sass, ptx, number):
    bodies = ptx_of_kernels(ptx)
    kernels = sass_of_kernels(sass)
    if kernels.keys() != bodies.keys():
        yield f"kernels {sorted(kernels.keys() ^ bodies.keys())} are in PTX or in machine code alone"
    for name, body in kernels.items():
        flushed = re.findall(r"\b(?:FADD|FMUL|FFMA)\.FTZ", body)
        if flushed and not re.search(r"(sqrt|div)\.rn\.f32", bodies[name]):
            yield f"{name} has {flushed[0]}, expected it in division and root alone"
        if not INTEGERS.match(name):
            continue
        wanted = "IMMA" if name.startswith("many") and number >= FIRST_MMA else "IDP.4A"
        if wanted not in body:
            yield f"{name} has no {wanted}"


def oldest_nvrtc(folder, text):
    """Problems of the code from NVRTC 12.0, the oldest version that the program accepts."""
    log, ptx, _ = Nvrtc(folder / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12").compile(text, 90)
    print(f"NVRTC 12.0: {len(ptx_of_kernels(ptx))} kernels")
    yield from (f"NVRTC 12.0: {problem}" for problem in [*problems_of_log(log), *problems_of_ptx(ptx)])


def nvidia(folder, text):
    nvrtc = Nvrtc(folder / "nvidia/cu13/lib/libnvrtc.so.13")
    for number in NVIDIA:
        log, ptx, cubin = nvrtc.compile(text, number)
        made = folder / f"sm_{number}.cubin"
        made.write_bytes(cubin)
        made.with_suffix(".ptx").write_text(ptx)
        sass = subprocess.run([folder / "nvidia/cu13/bin/nvdisasm", "-c", made], check=True, capture_output=True,
                              text=True).stdout
        made.with_suffix(".sass").write_text(sass)
        counts = collections.Counter(re.findall(r"\b(IMMA|IDP\.4A|FFMA)", sass))
        most = max(int(n) for n in re.findall(r"Used (\d+) registers", log))
        shared = max(int(n) for n in re.findall(r"(\d+) bytes smem", log))
        print(f"sm_{number}: {len(sass_of_kernels(sass))} kernels, at most {most} registers and {shared} bytes shared; "
              + ", ".join(f"{counts[name]} {name}" for name in ("IMMA", "IDP.4A", "FFMA")))
        yield from (f"sm_{number}: {problem}" for problem in
                    [*problems_of_log(log), *problems_of_ptx(ptx), *problems_of_sass(sass, ptx, number)])


def problems_of_amd_code(ir, code):
    modes = set(re.findall(r"\.amdhsa_float_denorm_mode_32 (\d+)", code))
    if modes != {"3"}:  # denormals are read and written
        yield f"float_denorm_mode_32 is {sorted(modes)}, expected 3"
    if re.search(r"\.vgpr_spill_count: *[1-9]", code):
        yield "vector registers spill"
    if "v_dot4" not in code:
        yield "no v_dot4"
    for loose in sorted(set(re.findall(r"f(?:add|sub) (?:fast|contract)|llvm\.fmuladd", ir))):
        yield f"{loose}, expected no sum that may take in a product"
    if "!fpmath" in ir:
        yield "operations that need not be rounded correctly"
    # v_sqrt_f32 is inexact. A correction then tries the next float below and the next above.
    if not all(re.search(r"v_add_(?:nc_)?u32.* -1, ", after)
               for after in re.findall(r"v_sqrt_f32.*((?:\n.*){8})", code)):
        yield "a square root that is not corrected"


def amd(folder, text):
    (folder / "kernels.cl").write_text(text)
    (folder / "kernels.hip").write_text(text)
    for name, (language, options) in itertools.product(AMD, AMD_LANGUAGES.items()):
        command = ["clang-15", "-O2", f"--rocm-device-lib-path={AMD_LIBRARIES}",
                   *(option.format(name) for option in options), "-S", folder / f"kernels.{language}"]
        made = [folder / f"{name}-{language}.{suffix}" for suffix in ("ll", "s")]
        subprocess.run([*command, "-emit-llvm", "-o", made[0]], check=True)
        subprocess.run([*command, "-o", made[1]], check=True)
        ir, code = (file.read_text() for file in made)
        print(f"{name}, {language}: {code.count('.amdhsa_kernel ')} kernels, {code.count('v_dot4')} v_dot4")
        yield from (f"{name}, {language}: {problem}" for problem in problems_of_amd_code(ir, code))


def main() -> int:
    folder = pathlib.Path(sys.argv[1]).resolve()
    text = kernel_text(folder)
    problems = [*oldest_nvrtc(folder, text), *nvidia(folder, text), *amd(folder, text)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
