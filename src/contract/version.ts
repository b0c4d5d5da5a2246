/** Of this package; a test compares it with package.json, so that no start has to read a file for it. */
export const VERSION = '0.1.0';
