/**
 * The disk as the spool needs it. What is durable (survives a power cut) after each call is part of the
 * promise; the simulated disk forgets everything else at a crash. Every failure is a rejected promise
 * with the system's error (`code`: ENOSPC, EROFS, EMFILE, EIO …), never a partly visible file.
 */
export interface Disk {
  /** Makes the folder and its parents (0700 for those it makes). Durable: yes. */
  makeFolder(folder: string): Promise<void>;
  /**
   * Writes a whole file (0600): beside, fsync, rename. The bytes are durable, **the name is not** until
   * `syncFolder` of its folder. A reader sees the whole old or the whole new file, never a mixture.
   */
  writeFile(file: string, data: string | Uint8Array): Promise<void>;
  /** `writeFile` of so many bytes that no file system can pack or share: its room is really taken. What they are means nothing. */
  takeRoom(file: string, bytes: number): Promise<void>;
  /**
   * Adds to the end of a file (0600), making it where there is none. Survives the end of the process,
   * **not** a power cut, and may then be there in part. For what is only a hint.
   */
  appendFile(file: string, data: string | Uint8Array): Promise<void>;
  /**
   * Writes over a file that is there, in its place: durable, and without a free byte where the new content is not
   * longer (by blocks) than the old. A crash in between may leave a mixture: only for what a checksum covers and can be
   * done without. Rejects with ENOENT where there is none.
   */
  writeOver(file: string, data: string | Uint8Array): Promise<void>;
  /**
   * Makes a new file (0600) that this process adds to while it is open. Rejects with EEXIST where something lies there. Its
   * name is durable only after `syncFolder`.
   */
  makeOpen(file: string): Promise<OpenFile>;
  /** Makes the content of a file durable that another process may have added to. Absent: rejects with ENOENT. */
  syncFile(file: string): Promise<void>;
  /** Makes the names in this folder durable: files made, renamed and removed before the call. */
  syncFolder(folder: string): Promise<void>;
  /**
   * The whole content. Rejects with ENOENT where there is none; with ELOOP for a symbolic link, which is never followed,
   * and EFTYPE for what else is no regular file (a pipe would never end). Writes refuse them too.
   */
  readFile(file: string): Promise<Uint8Array>;
  /** A part of the content, shorter where the file ends before. Refuses what `readFile` refuses. */
  readPart(file: string, offset: number, bytes: number): Promise<Uint8Array>;
  /** Names (not paths) in a folder, sorted; an absent folder is empty. */
  list(folder: string): Promise<string[]>;
  /**
   * Size in bytes, time of the last change (wall ms), and the bytes of its blocks: fewer than its size for a file with
   * holes, and on file systems that pack, or do not tell; `undefined` where there is none.
   */
  stat(
    file: string,
  ): Promise<{ bytes: number; modifiedMs: number; allocatedBytes: number } | undefined>;
  /** Removes the file; absent is fine. Needs no free byte. Durable: only after `syncFolder`. */
  remove(file: string): Promise<void>;
  /** What lies there; a symbolic link is one, unless it is followed. `undefined` where there is nothing. */
  look(path: string, options?: { readonly follow?: boolean }): Promise<Sight | undefined>;
  /** Takes all rights from other users: a file becomes 0600, a folder 0700. A link is refused unless it is followed. */
  restrict(path: string, options?: { readonly follow?: boolean }): Promise<void>;
  /** What this user can still write where the folder lies; `undefined` where the system does not tell. Knows no quota. */
  freeBytes(folder: string): Promise<number | undefined>;
  /** Renames within one file system. Durable: only after `syncFolder` of both folders. */
  rename(from: string, to: string): Promise<void>;
}

/** A file that one process adds to. One `add` at a time; a `sync` may run beside it. */
export interface OpenFile {
  /**
   * Adds to its end. Survives the end of the process, **not** a power cut. Where it rejects a part may be there: as far as
   * the disk obeys it is cut off again.
   */
  add(data: string): Promise<void>;
  /**
   * Makes durable what was added before the call; the name is not meant. Where it rejects nothing is known of what was added
   * since the last one that did not, and never will be: a later one may resolve and have kept nothing of it. Rejects with
   * ENOENT where the file was removed or moved meanwhile, or another lies in its place, and with EIO where somebody has cut
   * it: what is added to it would be gone with it.
   */
  sync(): Promise<void>;
  /** Waits for what is under way; what is begun after it rejects. Never rejects itself. Twice is once. */
  close(): Promise<void>;
}

export interface Sight {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** It belongs to the user that this process runs as. */
  readonly ours: boolean;
  /** What its mode lets other users (or its group) do. */
  readonly others: 'nothing' | 'read' | 'write';
}
