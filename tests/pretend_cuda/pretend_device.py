"""Pretend that there is a CUDA device: import this before torch. See pretend.cpp."""

import contextlib
import ctypes
import os
import sys

assert "torch" not in sys.modules, "import pretend_device before torch"
_lib = ctypes.CDLL(os.environ["PRETEND_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
_lib.pretend_stat.restype = ctypes.c_int64

DEVICES = int(os.environ.get("PRETEND_DEVICES", "1"))
CAPABILITY = tuple(map(int, os.environ.get("PRETEND_CAPABILITY", "7.5").split(".")))
NAME = {7: "Tesla T4", 8: "NVIDIA A100-SXM4-40GB", 9: "NVIDIA H100 80GB HBM3"}[CAPABILITY[0]]
TOTAL = {7: 15_828_320_256, 8: 42_297_786_368, 9: 85_017_624_576}[CAPABILITY[0]]
WORKSPACE = 33_554_432 if CAPABILITY[0] >= 9 else 8_519_680
_lib.pretend_configure(DEVICES, WORKSPACE, int(CAPABILITY[0] == 7))
_lib.pretend_noise.argtypes = [ctypes.c_double]
_lib.pretend_noise(float(os.environ.get("PRETEND_NOISE", "0")))

import torch  # noqa: E402

_pid_asked = None
_pid_inited = None
_bad_fork = False


def _after_fork():
    global _bad_fork
    if _pid_asked is not None or _pid_inited is not None:
        _bad_fork = True


os.register_at_fork(after_in_child=_after_fork)
_initialized = False


def _ask():
    """What torch._C._cuda_getDeviceCount does: it speaks to the driver and poisons forks."""
    global _pid_asked
    if _bad_fork:
        return 0  # cudaErrorInitializationError; torch warns and returns 0
    _pid_asked = os.getpid()
    return device_count()


def is_available():
    return _ask() > 0


def device_count():
    """By NVML: it poisons nothing, and answers in a bad fork."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return DEVICES
    return min(DEVICES, sum(name not in ("", "-1") for name in chosen.split(",")))


def _lazy_init():
    global _initialized, _pid_inited
    if _initialized:
        return
    if _bad_fork:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, use spawn"
        )
    if _ask() == 0:
        raise RuntimeError("No CUDA GPUs are available")
    _initialized = True
    _pid_inited = os.getpid()
    torch.cuda._initialized = True


def _index(device=None, optional=True, allow_cpu=False):
    if device is None:
        return _lib.pretend_current_device()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = _lib.pretend_current_device() if device.index is None else device.index
    else:
        index = int(device)
    if index >= DEVICES:
        raise torch.AcceleratorError("CUDA error: invalid device ordinal")
    return index


def _stat(n):
    return int(_lib.pretend_stat(n))


class _Properties:
    name = NAME
    major, minor = CAPABILITY
    total_memory = TOTAL
    multi_processor_count = 40
    uuid = "00000000-0000-0000-0000-000000000000"
    warp_size = 32
    gcnArchName = ""
    is_integrated = False
    L2_cache_size = 4194304
    regs_per_multiprocessor = 65536
    max_threads_per_multi_processor = 1024

    def __repr__(self):
        return f"_CudaDeviceProperties(name='{NAME}')"


def is_bf16_supported(including_emulation=True):
    if CAPABILITY[0] >= 8:
        return True
    return bool(including_emulation)


class _device:
    def __init__(self, device):
        self.idx = -1 if device is None else _index(device)

    def __enter__(self):
        self.prev = _lib.pretend_current_device()
        if self.idx >= 0:
            _lib.pretend_set_device(self.idx)

    def __exit__(self, *_):
        _lib.pretend_set_device(self.prev)
        return False


class _device_of(_device):
    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else None)


def _generator():
    return _default_generator


def manual_seed(seed):
    _generator().manual_seed(int(seed))


def get_rng_state(device="cuda"):
    _lazy_init()
    _index(device)
    return _generator().get_state()


def set_rng_state(state, device="cuda"):
    _index(device)
    if state.device.type != "cpu":
        raise TypeError("RNG state must be a torch.ByteTensor")
    _generator().set_state(state)


def _exchange(i):
    old = _lib.pretend_current_device()
    if i >= 0:
        _lib.pretend_set_device(i)
    return old


def _memory_stats(device=None):
    return {
        "allocated_bytes.all.current": _stat(0),
        "allocated_bytes.all.peak": _stat(1),
        "requested_bytes.all.current": _stat(4),
        "requested_bytes.all.peak": _stat(5),
        "reserved_bytes.all.current": _stat(2),
        "reserved_bytes.all.peak": _stat(3),
    }


class _Event:
    def __init__(self, *a, **k): ...
    def record(self, *a): ...
    def wait(self, *a): ...
    def synchronize(self): ...
    def query(self):
        return True

    def elapsed_time(self, other):
        return 1.0


class _Stream:
    device = torch.device("cuda", 0)
    stream_id = device_index = cuda_stream = 0
    device_type = 1

    def __init__(self, *a, **k): ...
    def wait_stream(self, *a): ...
    def wait_event(self, *a): ...
    def synchronize(self): ...
    def record_event(self, *a):
        return _Event()


@contextlib.contextmanager
def _stream(s):
    yield


def _capability(device=None):
    _lazy_init()
    return CAPABILITY


_patches = dict(
    is_available=is_available,
    device_count=device_count,
    current_device=lambda: (_lazy_init(), _lib.pretend_current_device())[1],
    set_device=lambda d: _lib.pretend_set_device(_index(d)),
    init=_lazy_init,
    _lazy_init=_lazy_init,
    is_initialized=lambda: _initialized and not _bad_fork,
    _is_in_bad_fork=lambda: _bad_fork,
    get_allocator_backend=lambda: "native",
    _is_compiled=lambda: True,
    _get_device_index=_index,
    synchronize=lambda device=None: _index(device) and None,
    empty_cache=lambda: _lib.pretend_empty_cache(),
    ipc_collect=lambda: None,
    memory_allocated=lambda device=None: (_index(device), _stat(0))[1],
    max_memory_allocated=lambda device=None: (_index(device), _stat(1))[1],
    memory_reserved=lambda device=None: (_index(device), _stat(2))[1],
    max_memory_reserved=lambda device=None: (_index(device), _stat(3))[1],
    reset_peak_memory_stats=lambda device=None: (_index(device), _lib.pretend_reset_peak()) and None,
    reset_max_memory_allocated=lambda device=None: _lib.pretend_reset_peak(),
    memory_stats=_memory_stats,
    mem_get_info=lambda device=None: (TOTAL - _stat(2) - 300 * 2**20, TOTAL),
    get_device_name=lambda device=None: (_lazy_init(), _index(device), NAME)[2],
    get_device_capability=_capability,
    get_device_properties=lambda device=None: (_lazy_init(), _index(device), _Properties())[2],
    is_bf16_supported=is_bf16_supported,
    is_tf32_supported=lambda: CAPABILITY[0] >= 8,
    manual_seed=manual_seed,
    manual_seed_all=manual_seed,
    seed=lambda: _generator().seed(),
    seed_all=lambda: _generator().seed(),
    initial_seed=lambda: _generator().initial_seed(),
    get_rng_state=get_rng_state,
    set_rng_state=set_rng_state,
    get_rng_state_all=lambda: [get_rng_state()],
    set_rng_state_all=lambda states: set_rng_state(states[0]),
    device=_device,
    device_of=_device_of,
    _exchange_device=_exchange,
    _maybe_exchange_device=lambda i: _exchange(i),  # Dynamo registers a handler for each of the two
    Event=_Event,
    Stream=_Stream,
    current_stream=lambda device=None: _Stream(),
    default_stream=lambda device=None: _Stream(),
    stream=_stream,
    get_arch_list=lambda: ["sm_75", "sm_80", "sm_86", "sm_90"],
    utilization=lambda device=None: 0,
    can_device_access_peer=lambda a, b: False,
)
for _module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda._utils):
    for _name, _value in _patches.items():
        if _module is torch.cuda or hasattr(_module, _name):
            setattr(_module, _name, _value)
torch.version.cuda = "12.8"
_default_generator = torch.Generator.__new__(torch.Generator, device="cuda")
torch.cuda.default_generators = (_default_generator,)


# storages that Python makes: only for copies
_deepcopy = torch.Tensor.__deepcopy__


def __deepcopy__(self, memo):
    if self.is_cuda:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol."
            )
        if id(self) in memo:
            return memo[id(self)]
        copies = memo.setdefault("torch", {})
        storage = self.untyped_storage()
        if storage._cdata not in copies:
            whole = torch.empty(0, dtype=torch.uint8, device=self.device).set_(storage)
            copies[storage._cdata] = whole.clone()
        with torch.no_grad():
            made = torch.empty(0, dtype=self.dtype, device=self.device)
            made.set_(copies[storage._cdata].untyped_storage(), self.storage_offset(), self.size(), self.stride())
        if isinstance(self, torch.nn.Parameter):
            made = torch.nn.Parameter(made, self.requires_grad)
        else:
            made.requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = made
        return made
    return _deepcopy(self, memo)


torch.Tensor.__deepcopy__ = __deepcopy__


def install_bitsandbytes():
    """Import bitsandbytes as on a machine with a GPU, with its CUDA kernels written in torch (bnb_cuda_kernels.py)."""
    asked = torch.cuda.is_available
    torch.cuda.is_available = lambda: False
    try:
        import bitsandbytes
    finally:
        torch.cuda.is_available = asked
    import adam_kernels as kernels

    host = torch.ops.pretend.host

    def up8(
        name,
        g,
        p,
        s1,
        s2,
        beta1,
        beta2,
        beta3,
        alpha,
        eps,
        step,
        lr,
        q1,
        q2,
        a1,
        a2,
        weight_decay,
        gnorm_scale,
        skip_zeros=False,
    ):
        assert name == "adam"
        g, p, s1, s2, q1, q2, a1, a2 = map(host, (g, p, s1, s2, q1, q2, a1, a2))
        kernels.adam8bit_blockwise(g, p, s1, s2, beta1, beta2, eps, step, lr, q1, q2, a1, a2, weight_decay, gnorm_scale)

    def up32(
        name,
        g,
        p,
        s1,
        s2,
        unorm_vec,
        max_unorm,
        param_norm,
        beta1,
        beta2,
        beta3,
        alpha,
        eps,
        weight_decay,
        step,
        lr,
        gnorm_scale,
        skip_zeros=False,
    ):
        assert name == "adam"
        g, p, s1, s2 = map(host, (g, p, s1, s2))
        kernels.adam32bit(g, p, s1, s2, beta1, beta2, eps, weight_decay, step, lr, gnorm_scale)

    def quantize(a, code, blocksize):
        assert blocksize in (4096, 2048, 1024, 512, 256, 128, 64), f"no CUDA kernel for blocks of {blocksize}"
        q, absmax = kernels.quantize_blockwise(host(a), host(code), blocksize)
        return q.cuda(), absmax.cuda()

    for op, function in (
        ("optimizer_update_8bit_blockwise", up8),
        ("optimizer_update_32bit", up32),
        ("quantize_blockwise", quantize),
    ):
        torch.library.impl(f"bitsandbytes::{op}", "CUDA")(function)
    return bitsandbytes


for _name, _value in dict(
    _cuda_getCurrentRawStream=lambda device: 0,
    _cuda_getDeviceCount=_ask,
    _cuda_getDevice=lambda: _lib.pretend_current_device(),
    _cuda_setDevice=lambda d: _lib.pretend_set_device(d),
    _cuda_isInBadFork=lambda: _bad_fork,
    _cuda_exchangeDevice=_exchange,
    _cuda_maybeExchangeDevice=lambda i: _exchange(i),
).items():
    if not hasattr(torch._C, _name):
        setattr(torch._C, _name, _value)
