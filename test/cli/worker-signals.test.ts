import { describe, expect, it } from 'vitest';
import { takeSignals } from '../../src/cli/worker-signals.ts';
import { systemClock } from '../../src/system/clock.ts';

/** What is told of a SIGHUP, with the listeners of this process put back afterwards. */
function told(
  terminal: boolean,
  play: (signals: ReturnType<typeof takeSignals>, say: string[]) => void,
) {
  const names = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
  const before = names.map((name) => process.listeners(name));
  for (const name of names) process.removeAllListeners(name);
  const say: string[] = [];
  try {
    play(takeSignals(systemClock(), terminal), say);
  } finally {
    for (const [i, name] of names.entries()) {
      process.removeAllListeners(name);
      for (const listener of before[i] ?? []) process.on(name, listener);
    }
  }
  return say;
}

const hangUp = () => process.emit('SIGHUP', 'SIGHUP');

describe('SIGHUP', () => {
  it('makes a worker without a terminal read again, also where it came while it started', () => {
    const said = told(false, (signals, say) => {
      hangUp();
      signals.worker({ signal: () => say.push('drain') });
      signals.reload(() => say.push('reload'));
      hangUp();
    });
    expect(said).toEqual(['reload', 'reload']);
  });

  it('drains a worker whose terminal was closed', () => {
    const said = told(true, (signals, say) => {
      signals.worker({ signal: () => say.push('drain') });
      signals.reload(() => say.push('reload'));
      hangUp();
    });
    expect(said).toEqual(['drain']);
  });
});
