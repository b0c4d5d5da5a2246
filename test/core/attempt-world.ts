import type { TerminalReport } from '../../src/contract/index.ts';
import {
  type AttemptEffect,
  type AttemptState,
  isOver,
  renews,
  step,
} from '../../src/core/attempt.ts';
import {
  claimed,
  type EventName,
  effectInWords,
  events,
  identity,
  type Kind,
  kinds,
  reportInWords,
} from './attempt-words.ts';

/**
 * One attempt with its surroundings: what a carrier, a disk and a control plane could say next, and what must
 * never be seen. `possible` lists the events that can come now, `feed` gives one to the machine and checks.
 */
export class AttemptWorld {
  state: AttemptState;
  readonly story: string[] = [];
  readonly #kind: Kind;

  // What is true outside.
  #granted = false;
  #asks = 0;
  #handler: 'none' | 'running' | 'gone' = 'none';
  #begun = false;
  #requested = false;
  #stopped = false;
  #ended: EventName | undefined;
  /** A report that is being written. */
  #writing: TerminalReport | undefined;
  /** One that the control plane may answer: on its way from the disk, or sent directly. */
  #sent: TerminalReport | undefined;
  #timer = false;

  // What was seen.
  readonly #made: TerminalReport[] = [];
  #written: TerminalReport | undefined;
  #frees = 0;
  #forgets = 0;
  #gateAccepted = false;
  #gateSaid: 'nothing' | 'open' | 'refused' = 'nothing';
  #toldStale = false;

  constructor(kind: Kind, cancelRequested: boolean) {
    this.#kind = kind;
    this.state = claimed(kind, cancelRequested);
  }

  possible(): EventName[] {
    const { phase } = this.state;
    const names: EventName[] = ['stale', 'lease ran out', 'cancel', 'drain', 'drain deadline'];
    if (phase === 'claimed' && !this.#granted) names.push('slot granted');
    if (this.#asks > 0)
      names.push(
        'gate accepted',
        'gate: lease expired',
        'gate: stale',
        'gate: superseded',
        'gate refused',
        'gate: no answer',
      );
    if (this.#handler === 'running') {
      if (this.#timer) names.push('timeout');
      if (this.#begun) names.push('returned', 'threw', 'input refused', 'said unknown');
      else names.push('begun', 'never began');
      names.push('died');
      if (this.#begun && !this.#requested) names.push('effect requested');
      if (this.#stopped) names.push('obeyed', 'killed', 'stuck');
    }
    if (this.#writing) names.push('written', 'not written');
    if (this.#sent) {
      names.push('answered: done', 'answered: stale', 'answered: recorded', 'answered: refused');
      if (!this.state.followUp) names.push('answered: refused, more follows');
    }
    return names;
  }

  feed(name: EventName): void {
    const before = this.state;
    this.story.push(name);
    this.#outside(name);
    const [state, effects] = step(before, events[name]);
    this.state = state;
    if (effects.length > 0) this.story.push(`  → ${effects.map(effectInWords).join(', ')}`);
    for (const effect of effects) this.#seen(effect);
    this.#check(before, effects);
  }

  /** Lets all that is under way come to a good end. */
  finish(): void {
    for (let i = 0; i < 40 && !isOver(this.state); i++) {
      const next = this.#wayOut();
      if (next === undefined) this.#wrong(`nothing leads on from phase ${this.state.phase}`);
      this.feed(next);
    }
    if (!isOver(this.state)) this.#wrong('does not come to an end');
    if (this.#frees !== (this.#granted ? 1 : 0)) this.#wrong(`${this.#frees} slots were freed`);
  }

  #wayOut(): EventName | undefined {
    if (this.#sent) return 'answered: done';
    if (this.#writing) return 'written';
    if (this.#handler === 'running')
      return this.#stopped ? 'killed' : this.#begun ? 'returned' : 'begun';
    if (this.#asks > 0) return 'gate accepted';
    return this.#granted ? undefined : 'slot granted';
  }

  /** What the event itself means outside the machine. */
  #outside(name: EventName): void {
    const event = events[name];
    switch (event.kind) {
      case 'slot-granted':
        this.#granted = true;
        break;
      case 'gate-answered':
        this.#asks--;
        if (event.answer === 'accepted' && this.state.gate === 'asking') this.#gateAccepted = true;
        if (event.answer === 'stale') this.#stale();
        break;
      case 'begun':
        this.#begun = true;
        break;
      case 'effect-requested':
        this.#requested = true;
        break;
      case 'handler-ended':
        this.#handler = 'gone';
        this.#ended = name;
        break;
      case 'report-written':
        this.#written = this.#writing;
        this.#writing = undefined;
        break;
      case 'report-not-written':
        // It is sent directly meanwhile, unless it must not be.
        this.#sent = this.#toldStale ? undefined : this.#writing;
        break;
      case 'report-answered':
        this.#sent = undefined;
        this.#writing = undefined;
        break;
      case 'stale':
        this.#stale();
        break;
      default:
        break;
    }
  }

  /** Once a terminal report is durable a refusal of any other report is ignored. */
  #stale(): void {
    if (this.state.phase !== 'spooled' && !isOver(this.state)) {
      this.#toldStale = true;
      this.#sent = undefined;
    }
  }

  #seen(effect: AttemptEffect): void {
    switch (effect.do) {
      case 'ask-gate':
        this.#asks++;
        if (effect.op !== this.#gateOp()) this.#wrong(`asks ${effect.op}, which is not its gate`);
        if (this.#toldStale) this.#wrong('asks a gate after STALE_ATTEMPT');
        break;
      case 'start-handler':
        if (this.#handler !== 'none') this.#wrong('a handler is started twice');
        if (!this.#granted || this.#frees > 0) this.#wrong('a handler is started without a slot');
        if (this.#kind === 'start gate' && !this.#gateAccepted)
          this.#wrong('a handler is started before its gate was accepted');
        this.#handler = 'running';
        this.#timer = true;
        break;
      case 'stop-handler':
        if (this.#stopped) this.#wrong('a handler is stopped twice');
        if (this.#handler !== 'running') this.#wrong('a handler is stopped that does not run');
        this.#stopped = true;
        break;
      case 'open-gate':
      case 'refuse-gate':
        this.#gate(effect.do === 'open-gate');
        break;
      case 'write-report':
        this.#make(effect.report);
        this.#writing = effect.report;
        break;
      case 'send-report':
        if (effect.report.op === 'release') this.#make(effect.report);
        else if (effect.report !== this.#written)
          this.#wrong(`${reportInWords(effect.report)} is sent before it is on disk`);
        if (this.#toldStale) this.#wrong('a report is sent after STALE_ATTEMPT');
        this.#sent = effect.report;
        break;
      case 'free-slot':
        this.#frees++;
        if (!this.#granted || this.#frees > 1) this.#wrong('a slot is freed that is not held');
        if (this.#handler === 'running') this.#wrong('a slot is freed while its handler runs');
        break;
      case 'forget':
        this.#forgets++;
        break;
      default:
        break;
    }
  }

  #gate(open: boolean): void {
    if (!this.#requested) this.#wrong('a gate is answered that nobody asked for');
    if (this.#gateSaid !== 'nothing') this.#wrong('a gate is answered twice');
    if (this.#handler === 'gone') this.#wrong('a gate is answered to a handler that has gone');
    if (open && this.#kind === 'effect gate' && !this.#gateAccepted)
      this.#wrong('the gate opens without an accepted answer');
    this.#gateSaid = open ? 'open' : 'refused';
  }

  #make(report: TerminalReport): void {
    this.#made.push(report);
    if (this.#made.length > (this.state.followUp ? 2 : 1)) this.#wrong('a second terminal report');
    if (report.op === 'release' && this.#begun)
      this.#wrong('released although its handler had begun');
    if (report.op === 'release' && this.#gateAccepted)
      this.#wrong('released although its gate was accepted');
    if (report.op === 'lost' && report.begun !== this.#begun)
      this.#wrong('tells a lie about begun');
    if (this.#ended === 'returned' && report.op !== 'complete' && !this.state.followUp)
      this.#wrong(`returned, but ${reportInWords(report)} is reported`);
    for (const name of ['taskId', 'attemptId', 'fence', 'leaseToken'] as const)
      if (report[name] !== identity[name]) this.#wrong(`a report without its ${name}`);
    if (this.#handler === 'running') this.#wrong('a report is made while the handler runs');
  }

  #check(before: AttemptState, effects: readonly AttemptEffect[]): void {
    const { state } = this;
    if (isOver(before) && (effects.length > 0 || state !== before))
      this.#wrong('something happens after the end');
    if (isOver(state) !== this.#forgets > 0 || this.#forgets > 1)
      this.#wrong(`forgotten ${this.#forgets} times`);
    if (isOver(state) && this.#handler === 'running') this.#wrong('over while its handler runs');
    const waits = this.#requested && this.#gateSaid === 'nothing';
    if (this.#handler === 'running' && waits && (this.#asks === 0 || state.gate !== 'asking'))
      this.#wrong('a handler waits for its gate for ever');
    if (state.slot !== (this.#granted && this.#frees === 0))
      this.#wrong('the slot of the state is not the truth');
    if (renews(state)) {
      if (isOver(state)) this.#wrong('renewed after the end');
      if (state.phase === 'spooled' && state.report?.op === 'lost')
        this.#wrong('renewed while a lost is spooled');
      if (state.stuck) this.#wrong('renewed for a handler that cannot be killed');
      if (this.#toldStale) this.#wrong('renewed after STALE_ATTEMPT');
    } else if (!isOver(state) && !state.stuck && !this.#toldStale && state.report?.op !== 'lost')
      this.#wrong('not renewed although its report is not answered');
  }

  #gateOp(): 'start' | 'effect' | undefined {
    return this.#kind === 'start gate' || this.#kind === 'effect gate'
      ? kinds[this.#kind].effectGate
      : undefined;
  }

  #wrong(what: string): never {
    throw new Error(`${what}\n  ${this.#kind}: ${this.story.join('\n  ')}`);
  }
}
