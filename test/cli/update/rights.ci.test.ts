import { spawnSync } from 'node:child_process';
import { chmodSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { installed } from './installed.ts';
import { versionOf } from './releases.ts';

const posix = process.platform !== 'win32';
if (!posix) console.log('Rights of an executable are not tried here: Windows has none of these.');

it.skipIf(!posix)(
  'an update tells which rights of the file a new one does not get, and how it gets them',
  async (context) => {
    const world = installed();
    await world.release('0.2.0');
    chmodSync(world.exe, 0o6755);
    const bits = await world.run(['--from', 'release', '--no-restart']);
    expect(bits.err).toContain(`chmod u+s,g+s '${world.exe}'`);
    expect(statSync(world.exe).mode & 0o7777).toBe(0o755);
    const can = spawnSync('setcap', ['cap_net_bind_service=ep', world.exe], {
      env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' },
    });
    if (can.status !== 0) return context.skip('Capabilities cannot be set here.');
    await world.release('0.3.0');
    const lost = await world.run(['--from', 'release', '--no-restart']);
    expect(lost.err).toContain(`setcap cap_net_bind_service=ep '${world.exe}'`);
    expect(await versionOf(world.exe)).toBe('0.3.0');
    await world.release('0.4.0');
    expect((await world.run(['--from', 'release', '--no-restart'])).err).not.toContain('setcap');
  },
);
