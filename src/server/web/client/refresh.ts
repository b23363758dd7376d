/** The session is over, or the server was started again. */
const SIGNED_OUT = 401;

/** Who has signed in. */
const userOf = (page: Document): string | undefined => page.querySelector('header bdi')?.textContent;

/** Fetches the page again and again, and puts its new content in place of the old. */
class Refresher {
  private paused = false;
  private last = new Date();
  private readonly status = document.createElement('span');
  private readonly bar = document.createElement('p');
  private readonly timer: number;

  constructor(
    private readonly seconds: number,
    private readonly enliven: (main: Element) => void,
  ) {
    const pause = document.createElement('button');
    pause.type = 'button';
    pause.textContent = 'Pause';
    pause.addEventListener('click', () => {
      this.paused = !this.paused;
      pause.textContent = this.paused ? 'Go on' : 'Pause';
      this.say(null);
    });
    this.bar.className = 'only-screen';
    this.bar.append(this.status, ' ', pause);
    document.querySelector('header')?.append(this.bar);
    document.querySelector('[data-live]')?.remove();
    this.say(null);
    this.timer = window.setInterval(() => void this.refresh(), seconds * 1000);
  }

  private say(problem: string | null): void {
    const time = this.last.toLocaleTimeString();
    this.status.textContent =
      problem !== null
        ? `Not refreshed since ${time}: ${problem}.`
        : this.paused
          ? `Paused at ${time}.`
          : `Refreshed every ${this.seconds} s, last at ${time}.`;
  }

  private async refresh(): Promise<void> {
    const main = document.querySelector('main');
    if (this.paused || document.hidden || main === null || isInUse(main)) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (!answer.ok && answer.status !== SIGNED_OUT) throw new Error(`the server answered ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      // The header would still name a user as whom nobody is signed in any more.
      if (userOf(page) !== userOf(document)) {
        location.reload();
        return;
      }
      const next = page.querySelector('main');
      if (next === null) throw new Error('the server answered with another page');
      this.last = new Date();
      if (!isInUse(main)) this.put(main, next);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  private put(main: Element, next: Element): void {
    const live = next.querySelector('[data-live]');
    live?.remove();
    keepOpen(main, next);
    main.replaceWith(next);
    this.enliven(next);
    this.say(null);
    // A page without data-live no longer changes.
    if (live !== null) return;
    clearInterval(this.timer);
    this.bar.remove();
  }
}

/** Whether something in `main` has the focus, or a chart is zoomed: new content would undo that. */
function isInUse(main: Element): boolean {
  const focused = document.activeElement;
  return (focused !== main && main.contains(focused)) || main.querySelector('[data-zoomed]') !== null;
}

function keepOpen(main: Element, next: Element): void {
  const all = [...next.querySelectorAll('details')];
  [...main.querySelectorAll('details')].forEach((details, index) => {
    if (details.open) all[index]?.setAttribute('open', '');
  });
}

/** Refreshes the page if it has data-live: it changes, and the browser does not reload it by itself. */
export function keepFresh(enliven: (main: Element) => void): void {
  const seconds = Number(document.querySelector('[data-live]')?.getAttribute('data-live') ?? 0);
  if (seconds > 0) new Refresher(seconds, enliven);
}
