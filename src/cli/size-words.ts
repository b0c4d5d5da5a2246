/** For people: `465 bytes`, `12 KB`, `4.2 MB`, `75 GB`; powers of 1024. */
export function sizeWords(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  let size = bytes / 1_024;
  let at = 0;
  // Rounded first: 1023.9 KB is 1 MB.
  while (Math.round(size) >= 1_024 && at < UNITS.length - 1) {
    size /= 1_024;
    at++;
  }
  return `${size < 10 ? Number(size.toFixed(1)) : Math.round(size)} ${UNITS[at]}`;
}

const UNITS = ['KB', 'MB', 'GB', 'TB'];
