/** The worst that people and programs write. */

/** Any of these that runs calls `alert`, sets a global, loads something or is reported as a violation of the policy. */
export const INJECTION =
  '"><script>alert("ran");window.ran=1</script><img src="https://outside.test/x.png" onerror="alert(1)">\'-alert(2)-\'</textarea></title></style><svg onload=alert(3)>{{7*7}}<a href="javascript:alert(4)">press</a>&lt;b&gt;&#x3c;';

/** Hebrew and Arabic, an override that is never ended, and the mark that would turn the rest of a line around. */
export const RIGHT_TO_LEFT =
  'שלום עולם, מה שלומך? مرحبا بالعالم \u202Eنص لا ينتهي اتجاهه \u2067 (ابدأ) 123 abc';

/** A family of joined people, a flag, a keycap, skin tones, wide letters, marks piled upon a letter. */
export const EMOJI = `👩‍👩‍👧‍👦 🏳️‍🌈 1️⃣ 👍🏽 漢字かな交じり文 Ü${'\u0301\u0316\u0323'.repeat(12)} 🚀🔥`;

/** One word. */
export const UNBROKEN = 'Donaudampfschifffahrtsgesellschaftskapitänsmütze'.repeat(6);

/** 4,000 characters: words, then one without end, then lines. */
export const LONG = [
  'Between here and there '.repeat(60),
  'x'.repeat(1_600),
  '\nline after line\n\ttabs\r\nand \u0000\u0007\u001B[31mred\u001B[0m controls',
  `${INJECTION} ${RIGHT_TO_LEFT} ${EMOJI}`,
]
  .join(' ')
  .padEnd(4_000, '…')
  .slice(0, 4_000);

export const WORST = [INJECTION, RIGHT_TO_LEFT, EMOJI, UNBROKEN, LONG] as const;

/** Names that the contract allows, as long and as unbroken as it does. */
export const LONG_TYPE = `${'Very.Long_Segment-'.repeat(10)}x/${'y'.repeat(15)}`.slice(0, 200);
export const LONG_POOL = `model/${'region:eu-west_'.repeat(12)}`.slice(0, 190);
export const LONG_WORKER = `worker-${'0123456789abcdef'.repeat(12)}`.slice(0, 200);
