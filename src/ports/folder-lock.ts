/**
 * One holder for a folder, among processes that can see it. The lock shows signs of life while it is held;
 * who may break one that shows none is decided by the caller, who knows more (an owner record).
 */
export interface FolderLock {
  /**
   * Takes the lock; `undefined` if it lies there, alive or not. `onLost` is called at most once, later,
   * when the lock was taken away or altered: never as a throw from a timer.
   */
  take(folder: string, onLost: (why: string) => void): Promise<HeldLock | undefined>;
  /** The lock as it lies there; `undefined` where there is none. */
  look(folder: string): Promise<LockSight | undefined>;
  /**
   * Removes it, whoever left it. Call it behind the `door`. `false`, and nothing was removed: what lies there is not the
   * one that was judged, or nothing does. @param stamp of the one that was judged; absent: any, and none is fine.
   */
  breakOpen(folder: string, stamp?: string): Promise<boolean>;
  /**
   * Runs `work` while nobody else is behind the door of this folder: judging, breaking and taking are one
   * step for all who come. Held for milliseconds; one left by a crash opens after `doorStaleMs`, and so does that of a
   * `work` that stood still for as long: it asks `stillOurs` before each step that must not cross another's.
   */
  door<T>(folder: string, work: (stillOurs: StillOurs) => Promise<T>): Promise<T>;
}

/** `false`: somebody else may be behind the door by now. Begin again, judging included. */
export type StillOurs = () => Promise<boolean>;

export interface HeldLock {
  /** Gives it back. Twice is fine; never rejects. */
  release(): Promise<void>;
}

export interface LockSight {
  /** Changes with every sign of life: seen the same for long, nobody holds it. Opaque. */
  readonly stamp: string;
  /** Wall time of the last sign of life, by the clock of whoever gave it. */
  readonly touchedAtMs: number;
}
