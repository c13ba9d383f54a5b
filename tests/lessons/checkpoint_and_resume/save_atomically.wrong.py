# Wrong answers to save_atomically.
# Not here: hard_coded, because the content is written by the function that is given.
# Not here: library_shortcut, because torch.save and the standard library have no atomic save.

# %% answer="plain_baseline" code="opened_in_place"
# Source: with open(path, "wb"), as in every tutorial
def save_atomically(path, write):
    with open(path, "wb") as file:
        write(file)


# %% answer="copied_from_lesson" code="copied_over_the_old_file"
# Source: the demonstration's write_bytes
def save_atomically(path, write):
    file = io.BytesIO()
    write(file)
    path.write_bytes(file.getvalue())


# %% answer="removed_first" code="old_file_removed_first"
# Source: os.rename on Windows refuses a target that exists
def save_atomically(path, write):
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    path.unlink(missing_ok=True)
    os.rename(temporary, path)


# %% answer="backup_first" code="old_file_removed_first"
# Source: the old file is kept under another name
def save_atomically(path, write):
    backup = path.with_suffix(".old")
    if path.exists():
        os.replace(path, backup)
    with open(path, "wb") as file:
        write(file)
    backup.unlink(missing_ok=True)


# %% edit="copied" code="copied_over_the_old_file"
# Source: shutil.copy of a temporary file
# -         os.replace(temporary, path)
# +         import shutil
# +
# +         shutil.copyfile(temporary, path)
# +         temporary.unlink()

# %% edit="replaced_within_the_block" code="replaced_before_the_file_is_complete"
# Source: the rename is indented too far, and nothing is flushed
# -             file.flush()
# -             os.fsync(file.fileno())
# -         os.replace(temporary, path)
# +             os.replace(temporary, path)

# %% edit="forgotten" code="never_renamed"
# Source: the temporary file is all there is
# -         os.replace(temporary, path)

# %% edit="exclusive" code="blocked_by_a_left_over"
# Source: mode "x" protects from overwriting
# -         with open(temporary, "wb") as file:
# +         with open(temporary, "xb") as file:

# %% edit="appended" code="appended_to_a_left_over"
# Source: mode "a"
# -         with open(temporary, "wb") as file:
# +         with open(temporary, "ab") as file:

# %% edit="no_sync" code="never_synced"
# Source: os.replace is atomic, so all is well
# -             file.flush()
# -             os.fsync(file.fileno())

# %% edit="no_flush" code="not_flushed_before_fsync"
# Source: fsync flushes everything
# -             file.flush()
# -             os.fsync(file.fileno())
# +             os.fsync(file.fileno())

# %% edit="synced_late" code="renamed_before_the_data_is_on_disk"
# Source: sync what readers see
# -             file.flush()
# -             os.fsync(file.fileno())
# -         os.replace(temporary, path)
# +         os.replace(temporary, path)
# +         with open(path, "rb+") as file:
# +             os.fsync(file.fileno())

# %% edit="system_folder" code="temporary_file_elsewhere"
# Source: temporary files belong into /tmp
# -     temporary = path.with_suffix(".tmp")
# +     temporary = Path(tempfile.gettempdir()) / f"{path.parent.name}-{path.name}"

# %% edit="no_clean_up" code="temporary_file_left_after_an_error"
# Source: errors are rare
# -     except BaseException:
# -         temporary.unlink(missing_ok=True)
# -         raise
# +     finally:
# +         pass

# %% edit="swallowed" code="error_swallowed"
# Source: training must not stop because a save failed
# -         raise
# +         print("the save failed")

# %% edit="another_error" code="another_error_raised"
# Source: an error with a better text
# -         raise
# +         raise RuntimeError("the save failed") from None

# %% edit="renamed_in_any_case" code="half_a_file_put_in_place"
# Source: the rename in a finally block
# -         os.replace(temporary, path)
# -     except BaseException:
# -         temporary.unlink(missing_ok=True)
# -         raise
# +     finally:
# +         os.replace(temporary, path)

# %% edit="text_mode" code="raised_type_error"
# Source: the mode is forgotten
# Because: Python names both types, and the learner's line is shown
# -         with open(temporary, "wb") as file:
# +         with open(temporary, "w") as file:

# %% edit="written_twice" code="write_not_called_once"
# Source: a first write to see whether it works
# -             write(file)
# +             write(io.BytesIO())
# +             write(file)

# %% edit="never_closed" code="file_left_open"
# Source: open() without a block, as flush and fsync have written everything
# -         with open(temporary, "wb") as file:
# -             write(file)
# -             file.flush()
# -             os.fsync(file.fileno())
# +         file = open(temporary, "wb")
# +         write(file)
# +         file.flush()
# +         os.fsync(file.fileno())

# %% edit="backup_kept" code="temporary_file_left"
# Source: a copy of the last checkpoint, just in case
# -         os.replace(temporary, path)
# +         if path.exists():
# +             path.with_suffix(".old").write_bytes(path.read_bytes())
# +         os.replace(temporary, path)

# %% edit="wrong_file_removed" code="old_file_lost_after_an_error"
# Source: after an error, the checkpoint is invalid
# -         temporary.unlink(missing_ok=True)
# +         path.unlink(missing_ok=True)

# %% edit="skipped" code="blocked_by_a_left_over"
# Source: a temporary file means that another save is running
# -     try:
# -         with open(temporary, "wb") as file:
# +     if temporary.exists():
# +         return
# +     try:
# +         with open(temporary, "wb") as file:
