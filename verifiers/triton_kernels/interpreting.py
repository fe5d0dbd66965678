"""Triton's interpreter, set up for many small launches."""

from typing import Any


def set_up(interpreter: Any) -> None:
    """Leave out what takes most of the time of a small launch. interpreter: ``triton.runtime.interpreter``.

    A check of each integer operation for overflow, which compiled kernels do not have; and that its language is patched
    anew at each launch and each call of a device function: here once for each. It stays patched in this process, which
    compiles no kernel. NumPy's type for each of Triton's, made anew for each operation, is kept by name.
    """
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
    patch, patched = getattr(interpreter, "_patch_lang", None), set[Any]()
    if patch is None or hasattr(patch, "once"):
        return

    def once(function: Any) -> Any:
        if function not in patched:
            patched.add(function)
            patch(function)
        return interpreter._LangPatchScope()

    once.once = True  # pyright: ignore[reportFunctionMemberAccess]
    interpreter._patch_lang = once
    numpy_type, known = interpreter._get_np_dtype, dict[str, Any]()

    def kept(dtype: Any) -> Any:
        if dtype.name not in known:
            known[dtype.name] = numpy_type(dtype)
        return known[dtype.name]

    interpreter._get_np_dtype = kept
