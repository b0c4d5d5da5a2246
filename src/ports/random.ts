/** Chance. One seeded generator stands behind it in the simulator, so a run can be repeated. */
export interface Random {
  /** `n` unpredictable bytes (0 < n ≤ 65536). */
  bytes(n: number): Uint8Array;
  /** A number in [0, 1). For jitter only, never for ids or secrets. */
  fraction(): number;
}
