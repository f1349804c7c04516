/** Something that a person can mend: one line that names the object, the cause and the next thing to do. */
export class UserError extends Error {
  override readonly name = "UserError";
}

/** What was asked for makes no sense: to be asked for in another way. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The system's error codes in words; the code itself where there is no better word. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "EROFS":
      return "the file system is read-only";
    case "ENOSPC":
      return "the disk is full";
    case "ENOTDIR":
      return "a part of the path is not a directory";
    case "ENOENT":
      return "no such file or directory";
    default:
      return message;
  }
}
