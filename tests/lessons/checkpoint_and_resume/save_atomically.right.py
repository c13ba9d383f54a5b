# Right answers to save_atomically.

# %% answer="random_name"
def save_atomically(path, write):
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file)
        os.rename(name, path)
    except BaseException:
        os.unlink(name)
        raise


# %% answer="folder_too"
def save_atomically(path, write):
    temporary = path.parent / (path.name + ".part")
    is_done = False
    try:
        with temporary.open("wb", buffering=0) as file:
            write(file)
            os.fsync(file.fileno())
        temporary.replace(path)
        is_done = True
    finally:
        if not is_done and temporary.exists():
            temporary.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


# %% answer="in_memory_first"
def save_atomically(path, write):
    content = io.BytesIO()
    write(content)
    temporary = path.with_name("next." + path.name)
    with open(temporary, "wb") as file:
        file.write(content.getbuffer())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    content.close()
