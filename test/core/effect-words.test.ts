import { expect, it } from 'vitest';
import { effectWords } from '../../src/core/failures.ts';

it('says that no effect took place of a handler that was not called in the first attempt, and of no later one', () => {
  expect(effectWords({ begun: false, attempt: 1 })).toBe(
    'The handler was not called, so no effect of it took place.',
  );
  for (const attempt of [2, undefined])
    expect(effectWords({ begun: false, attempt })).toBe(
      'In this attempt the handler was not called; what earlier ones did, it does not say.',
    );
});

it('tells of an effect that an earlier attempt may have left, whatever the last one did', () => {
  const begun = 'An attempt was past its gate: its effect may have taken place.';
  expect(effectWords({ effect: 'begun', attempt: 2 })).toBe(begun);
  expect(effectWords({ effect: 'begun', begun: false, attempt: 2 })).toBe(
    `In this attempt the handler was not called. ${begun}`,
  );
  expect(effectWords({ attempt: 1 })).toBeUndefined();
});
