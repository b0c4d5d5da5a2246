/**
 * Where two programs share no version of the contract: what each speaks, and which of them to update.
 * @param theirs versions that the control plane told. `undefined` where it speaks ours.
 */
export function noCommonContract(
  theirs: readonly number[],
  ours: number,
): { readonly says: string; readonly next: string } | undefined {
  if (theirs.includes(ours)) return undefined;
  const spoken = theirs.length === 0 ? 'none that it tells' : theirs.join(', ');
  const older = theirs.length > 0 && theirs.every((version) => version < ours);
  const newer = theirs.length > 0 && theirs.every((version) => version > ours);
  return {
    says: `it speaks contract ${spoken}, this program speaks ${ours}`,
    next: newer
      ? 'Update this program.'
      : older
        ? 'Update the control plane, or use an older version of this program.'
        : 'Use versions of both that go together.',
  };
}
