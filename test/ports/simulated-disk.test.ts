import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedDisk } from '../../sim/disk.ts';
import { SimulatedRandom } from '../../sim/random.ts';

const text = async (bytes: Promise<Uint8Array>) => Buffer.from(await bytes).toString();

async function make() {
  const clock = new SimulatedClock();
  const disk = new SimulatedDisk(clock);
  await disk.mount().makeFolder('/w');
  return { clock, disk };
}

describe('what the simulated disk forgets', () => {
  it('loses a file at a power cut until its folder is synced', async () => {
    const { disk } = await make();
    await disk.mount().writeFile('/w/a', '1');
    disk.powerCut();
    expect(await disk.mount().list('/w')).toEqual([]);
    const again = disk.mount();
    await again.writeFile('/w/a', '1');
    await again.syncFolder('/w');
    disk.powerCut();
    expect(await text(disk.mount().readFile('/w/a'))).toBe('1');
  });

  it('does not cover with a folder sync what comes while it is under way', async () => {
    const { disk, clock } = await make();
    const mounted = disk.mount();
    disk.fail({ step: 'syncFolder', ms: 10, times: 1 });
    await mounted.writeFile('/w/a', '1');
    const synced = mounted.syncFolder('/w');
    await mounted.writeFile('/w/b', '2');
    await clock.time.until(synced);
    disk.powerCut();
    expect(await disk.mount().list('/w')).toEqual(['a']);
  });

  it('keeps what a folder sync covers, also where another folder is synced meanwhile', async () => {
    const { disk, clock } = await make();
    const mounted = disk.mount();
    await mounted.makeFolder('/v');
    disk.fail({ step: 'syncFolder', path: /w$/, ms: 10, times: 1 });
    await mounted.writeFile('/w/a', '1');
    const synced = mounted.syncFolder('/w');
    await mounted.syncFolder('/v');
    await clock.time.until(synced);
    disk.powerCut();
    expect(await disk.mount().list('/w')).toEqual(['a']);
  });

  it('keeps the old content of a replaced file until the folder is synced', async () => {
    const { disk } = await make();
    const first = disk.mount();
    await first.writeFile('/w/a', 'old');
    await first.syncFolder('/w');
    await first.writeFile('/w/a', 'new');
    disk.powerCut();
    expect(await text(disk.mount().readFile('/w/a'))).toBe('old');
  });

  it('brings a removed or renamed file back until the folder is synced', async () => {
    const { disk } = await make();
    const first = disk.mount();
    await first.writeFile('/w/a', '1');
    await first.writeFile('/w/b', '2');
    await first.syncFolder('/w');
    await first.remove('/w/a');
    await first.rename('/w/b', '/w/c');
    disk.powerCut();
    const second = disk.mount();
    expect(await second.list('/w')).toEqual(['a', 'b']);
    await second.remove('/w/a');
    await second.rename('/w/b', '/w/c');
    await second.syncFolder('/w');
    disk.powerCut();
    expect(await disk.mount().list('/w')).toEqual(['c']);
  });

  it('loses appended bytes at a power cut, but not at a kill', async () => {
    const { disk } = await make();
    const first = disk.mount();
    await first.writeFile('/w/a', 'kept ');
    await first.syncFolder('/w');
    await first.appendFile('/w/a', 'lost');
    disk.kill();
    expect(await text(disk.mount().readFile('/w/a'))).toBe('kept lost');
    disk.powerCut();
    expect(await text(disk.mount().readFile('/w/a'))).toBe('kept ');
  });

  it('with chance may keep what was not synced, torn or as zeros, but never loses what was', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 200; seed++) {
      const { disk } = await make();
      const first = disk.mount();
      await first.writeFile('/w/a', 'kept ');
      await first.syncFolder('/w');
      await first.appendFile('/w/a', 'tail');
      await first.writeFile('/w/b', 'whole');
      disk.powerCut(new SimulatedRandom(seed));
      const second = disk.mount();
      const a = await text(second.readFile('/w/a'));
      expect(a).toMatch(/^kept (t?a?i?l?|\0+)$/);
      const names = await second.list('/w');
      if (names.includes('b')) expect(await text(second.readFile('/w/b'))).toBe('whole');
      seen.add(`${a.replaceAll('\0', '0')} ${names.length}`);
    }
    expect(seen.size).toBeGreaterThan(10);
  });

  it('never settles what a killed process had under way, and does not carry it out', async () => {
    const { disk, clock } = await make();
    const first = disk.mount();
    let settled = false;
    void first.writeFile('/w/a', '1').finally(() => {
      settled = true;
    });
    const other = disk.mount();
    disk.kill(first);
    await clock.time.settle();
    expect(settled).toBe(false);
    await other.writeFile('/w/b', '2');
    expect((await other.list('/w')).filter((name) => name === 'a' || name === 'b')).toEqual(['b']);
  });

  it('crashes before any step that is asked for', async () => {
    const left: string[][] = [];
    for (let step = 2; step <= 6; step++) {
      const { disk, clock } = await make();
      disk.crashBefore(step, () => disk.kill());
      const first = disk.mount();
      void first.writeFile('/w/a', 'one\n').then(() => first.syncFolder('/w'));
      await clock.time.settle();
      left.push(Object.entries(disk.platter.tree()).map(([name, bytes]) => name + bytes.trim()));
    }
    expect(left).toEqual([[], ['/w/a.0'], ['/w/a.0one'], ['/w/a.0one'], ['/w/aone']]);
  });
});

describe('faults of the simulated disk', () => {
  it('fails the step that is named, as often as told, and leaves no part of a file', async () => {
    const { disk } = await make();
    const mounted = disk.mount();
    await mounted.writeFile('/w/a', 'old');
    disk.fail({ step: 'syncFile', path: /a$/, code: 'EIO', times: 1 });
    await expect(mounted.writeFile('/w/a', 'new')).rejects.toMatchObject({ code: 'EIO' });
    expect(await text(mounted.readFile('/w/a'))).toBe('old');
    expect(await mounted.list('/w')).toEqual(['a']);
    await mounted.writeFile('/w/a', 'new');
    expect(await text(mounted.readFile('/w/a'))).toBe('new');
  });

  it('is full at its capacity, tears an append there, and takes removals', async () => {
    const { disk } = await make();
    const mounted = disk.mount();
    disk.capacityBytes = 10;
    await mounted.writeFile('/w/a', '12345678');
    await expect(mounted.writeFile('/w/b', '123')).rejects.toMatchObject({ code: 'ENOSPC' });
    await expect(mounted.appendFile('/w/a', '9ab')).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await text(mounted.readFile('/w/a'))).toBe('123456789a');
    await mounted.remove('/w/a');
    await mounted.writeFile('/w/b', '123');
    expect(await mounted.list('/w')).toEqual(['b']);
  });

  it('takes time where told', async () => {
    const { disk, clock } = await make();
    disk.fail({ step: 'syncFolder', ms: 2_000, times: 1 });
    const from = clock.now();
    await clock.time.until(disk.mount().syncFolder('/w'));
    expect(clock.now() - from).toBe(2_000);
  });
});
