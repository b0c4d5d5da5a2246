/** Reads the text format of Prometheus, as strictly as a scraper does. Throws for what is none. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

export function readExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  const helps = new Map<string, string>();
  let family: Family | undefined;
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (help) {
      helps.set(help[1] ?? '', help[2] ?? '');
      continue;
    }
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type) {
      const [, name = '', kind = ''] = type;
      if (families.has(name)) throw new Error(`${name} comes twice`);
      family = { name, type: kind, help: helps.get(name) ?? '', samples: [] };
      families.set(name, family);
      continue;
    }
    const sample = readSample(line);
    const base = sample.name.replace(/_(bucket|sum|count)$/, '');
    if (family === undefined || (family.name !== sample.name && family.name !== base))
      throw new Error(`a sample outside of its family: ${line}`);
    family.samples.push(sample);
  }
  return families;
}

function readSample(line: string): Sample {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (!match) throw new Error(`no sample: ${line}`);
  const [, name = '', inner = '', value = ''] = match;
  const labels: Record<string, string> = {};
  let rest = inner;
  while (rest !== '') {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/.exec(rest);
    if (!label) throw new Error(`labels that cannot be read: ${line}`);
    labels[label[1] ?? ''] = label[2] ?? '';
    rest = rest.slice(label[0].length);
  }
  const number = /^\+?inf$/i.test(value) ? Number.POSITIVE_INFINITY : Number(value);
  if (Number.isNaN(number) && !/^nan$/i.test(value)) throw new Error(`no number: ${line}`);
  return { name, labels, value: number };
}
