import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Hmac } from '../../src/control-plane/hmac.ts';
import { leaseToken, tokenFits } from '../../src/control-plane/lease-token.ts';
import { runs } from '../property.ts';

const secret = new Uint8Array(32).fill(9);
const holder = { project: 'default', attemptId: 'att_1', fence: 3 };

it('is the HMAC of epoch, project, attempt and fence under the secret of the control plane', () => {
  const made = createHmac('sha256', secret).update('epoch\ndefault\natt_1\n3').digest('base64url');
  expect(leaseToken(secret, 'epoch', holder)).toBe(made);
  expect(tokenFits(secret, 'epoch', holder, made)).toBe(true);
});

it('is another one for another secret, epoch, project, attempt or fence', () => {
  const tokens = [
    leaseToken(secret, 'epoch', holder),
    leaseToken(new Uint8Array(32).fill(8), 'epoch', holder),
    leaseToken(secret, 'later', holder),
    leaseToken(secret, 'epoch', { ...holder, project: 'shop' }),
    leaseToken(secret, 'epoch', { ...holder, attemptId: 'att_2' }),
    leaseToken(secret, 'epoch', { ...holder, fence: 4 }),
    // The parts cannot run into each other.
    leaseToken(secret, 'epoch', { ...holder, attemptId: 'att_', fence: 13 }),
  ];
  expect(new Set(tokens).size).toBe(tokens.length);
  for (const token of tokens.slice(1))
    expect(tokenFits(secret, 'epoch', holder, token)).toBe(false);
  // Whatever was asked for since.
  expect(leaseToken(secret, 'epoch', holder)).toBe(tokens[0]);
});

it('is what Node makes of any key and text, one after the other with the same key', () => {
  const key = fc.uint8Array({ minLength: 0, maxLength: 200 });
  const texts = fc.array(fc.string({ unit: 'binary', maxLength: 2_000, size: 'max' }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(key, texts, (bytes, given) => {
      const hmac = new Hmac(bytes);
      for (const text of given)
        expect(hmac.digest(text)).toBe(
          createHmac('sha256', bytes).update(text).digest('base64url'),
        );
    }),
    { numRuns: runs(100) },
  );
});
