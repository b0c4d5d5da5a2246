import { expect, it } from 'vitest';
import { stateFolder } from '../../src/system/state-folder.ts';

it.each([
  ['linux', {}, '/homes/ada', '/homes/ada/.local/state/interlock'],
  ['linux', { XDG_STATE_HOME: '/x' }, '/homes/ada', '/x/interlock'],
  ['linux', { XDG_STATE_HOME: 'relative' }, '/homes/ada', '/homes/ada/.local/state/interlock'],
  ['linux', { XDG_STATE_HOME: '' }, '/homes/ada', '/homes/ada/.local/state/interlock'],
  ['linux', { STATE_DIRECTORY: '/var/lib/interlock:/var/lib/b' }, '/', '/var/lib/interlock'],
  ['linux', {}, '', undefined],
  ['freebsd', {}, '/homes/ada', '/homes/ada/.local/state/interlock'],
  [
    'darwin',
    { XDG_STATE_HOME: '/x' },
    '/Users/ada',
    '/Users/ada/Library/Application Support/interlock',
  ],
  ['win32', { LOCALAPPDATA: 'D:\\Local' }, 'C:\\Users\\ada', 'D:\\Local\\interlock'],
  ['win32', {}, 'C:\\Users\\ada', 'C:\\Users\\ada\\AppData\\Local\\interlock'],
  ['win32', {}, '', undefined],
] as const)('%s with %o and home %s keeps state in %s', (platform, env, home, folder) => {
  expect(stateFolder({ platform, env, home })).toBe(folder);
});
