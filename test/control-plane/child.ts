import { makeKey } from '../../src/control-plane/keys.ts';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { openDataFolder } from '../../src/stores/data-folder.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** What tests run as a process of its own: `serve <folder>` or `key <folder> <kind>`. */
const [what, data = '', kind = 'task-producer'] = process.argv.slice(2);
const clock = systemClock();
const random = systemRandom();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

if (what === 'serve') {
  const served = await serveControlPlane({ listen: '127.0.0.1:0', data, clock, random, log });
  process.once('SIGTERM', () => void served.stop().then(() => process.exit(0)));
  say({ url: served.url, adminKey: served.adminKey });
} else {
  const folder = openDataFolder(data, { clock, random, as: 'visitor' });
  const made = await makeKey(
    { store: folder.store, random },
    { kind: kind as 'task-producer', project: 'default', name: 'made beside' },
  );
  await folder.close();
  say({ key: made.key });
}
