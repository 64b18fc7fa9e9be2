// How the run went over the last ten minutes: a sample a second, kept by the service, drawn as small charts.

const SPAN_S = 600, EDGE = 2, SHORTEST_S = 0.5;
const REASONS = ['ENOUGH_PEAKS', 'HAS_HOLES', 'KEPT_AT_RANDOM', 'TOO_FEW_PEAKS'];
const INKS = { rate: '--accent', hits: '--second', ENOUGH_PEAKS: '--good', HAS_HOLES: '--bad', KEPT_AT_RANDOM: '--accent', TOO_FEW_PEAKS: '--quiet', ring: '--accent', lost: '--bad' };

// What lies between two samples: rates, and the share of each verdict. A new run, or a pause of the service, begins anew.
export function between(samples) {
  const found = [];
  let was = samples[0];
  for (let k = 1; k < samples.length; k++) {
    const now = samples[k], seconds = now.time - was.time, next = samples[k + 1];
    if (next && next.time - now.time < SHORTEST_S) continue; // the last one of a run comes when it ends
    if (seconds < SHORTEST_S || now.frames < was.frames) {
      was = now;
      continue;
    }
    const verdicts = Object.fromEntries(REASONS.map((reason) => [reason, (now.verdicts[reason] ?? 0) - (was.verdicts[reason] ?? 0)]));
    const judged = Object.values(verdicts).reduce((sum, n) => sum + n, 0);
    found.push({
      time: now.time,
      rate: (now.frames - was.frames) / seconds,
      lost: Math.max(0, now.lost - was.lost) / seconds,
      hits: judged ? verdicts.ENOUGH_PEAKS / judged : null,
      shares: judged ? REASONS.map((reason) => verdicts[reason] / judged) : null,
      ring: now.slots ? now.slots_used / now.slots : 0,
      drift: now.drift_adu,
    });
    was = now;
  }
  return found;
}

function prepared(canvas) {
  const ratio = devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const pen = canvas.getContext('2d');
  pen.clearRect(0, 0, width, height);
  pen.lineWidth = 1.5 * ratio;
  const ink = (name) => {
    canvas.style.color = `var(${INKS[name] ?? name})`; // light-dark() is resolved where it is used
    return getComputedStyle(canvas).color;
  };
  return { pen, width, height, ink };
}

function places(points, width) {
  const first = points[0].time, span = Math.max(10, Math.min(SPAN_S, points.at(-1).time - first));
  return points.map((point) => (point.time - first) / span * width);
}

function line({ pen, height }, xs, values, low, high, colour) {
  pen.strokeStyle = colour;
  pen.beginPath();
  let drawing = false;
  values.forEach((value, k) => {
    if (value === null || value === undefined) return void (drawing = false);
    const y = height - EDGE - (value - low) / (high - low || 1) * (height - 2 * EDGE);
    if (drawing) pen.lineTo(xs[k], y);
    else pen.moveTo(xs[k], y);
    drawing = true;
  });
  pen.stroke();
}

function stacked({ pen, width, height, ink }, xs, points) {
  const colours = REASONS.map(ink);
  points.forEach((point, k) => {
    if (!point.shares) return;
    const from = k ? Math.round(xs[k - 1]) : 0, wide = Math.max(1, Math.min(width, Math.round(xs[k])) - from);
    let share = 0, floor = height;
    point.shares.forEach((part, which) => {
      share += part;
      const top = Math.round((1 - share) * height);
      pen.fillStyle = colours[which];
      pen.fillRect(from, top, wide, floor - top);
      floor = top;
    });
  });
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

export function drawCharts(samples, $) {
  const points = between(samples), drifts = samples.at(-1)?.drift_adu ?? {}, modules = Object.keys(drifts);
  $('drift').hidden = !modules.length;
  const charts = { history: null, 'verdict-history': null, 'ring-history': null, ...(modules.length ? { 'drift-history': null } : {}) };
  for (const id of Object.keys(charts)) charts[id] = prepared($(id));
  if (!points.length) return;
  const xs = places(points, charts.history.width), now = points.at(-1);
  const most = Math.max(1, ...points.map((point) => point.rate));
  line(charts.history, xs, points.map((point) => point.rate), 0, most, charts.history.ink('rate'));
  line(charts.history, xs, points.map((point) => point.lost), 0, most, charts.history.ink('lost'));
  line(charts.history, xs, points.map((point) => point.hits), 0, 1, charts.history.ink('hits'));
  stacked(charts['verdict-history'], xs, points);
  line(charts['ring-history'], xs, points.map((point) => point.ring), 0, 1, charts['ring-history'].ink('ring'));
  const last = points.findLast((point) => point.hits !== null);
  $('hits').textContent = last ? percent(last.hits) : '0 %';
  $('history').setAttribute('aria-label', `${now.rate.toFixed(1)} frames/s, ${now.lost.toFixed(1)} lost, ${last ? percent(last.hits) : 'none'} with enough peaks; the most was ${most.toFixed(1)} frames/s`);
  $('verdict-history').setAttribute('aria-label', `Verdicts: ${last ? REASONS.map((reason, k) => `${reason.toLowerCase().replaceAll('_', ' ')} ${percent(last.shares[k])}`).join(', ') : 'none'}`);
  $('ring-history').setAttribute('aria-label', `Ring in use: ${percent(now.ring)}, at most ${percent(Math.max(...points.map((point) => point.ring)))}`);
  if (modules.length) drawDrift(charts['drift-history'], xs, points, drifts, $);
}

function drawDrift(chart, xs, points, drifts, $) {
  const modules = Object.keys(drifts), most = Math.max(1, ...points.flatMap((point) => Object.values(point.drift).map(Math.abs)));
  line(chart, [0, chart.width], [0, 0], -most, most, chart.ink('--line'));
  modules.forEach((module, k) => line(chart, xs, points.map((point) => point.drift[module]), -most, most, `hsl(${Math.round(360 * k / modules.length)} 65% 50%)`));
  const text = modules.map((module) => `${module}: ${drifts[module] >= 0 ? '+' : ''}${drifts[module].toFixed(1)}`).join(', ');
  $('drifts').textContent = `ADU a module since the start: ${text}`;
  $('drift-history').setAttribute('aria-label', `Pedestal drift, ${text} ADU`);
}

// Asks for what is new once a second, and draws all. `ask` is a fetch with the token.
export async function follow(ask, $) {
  let samples = [];
  for (;;) {
    try {
      const answer = await ask(`/api/history?after=${samples.at(-1)?.time ?? 0}`);
      const found = answer.ok ? await answer.json() : [];
      if (found.length && samples.length && found[0].frames < samples.at(-1).frames) samples = []; // another run
      samples = [...samples, ...found].filter((sample) => sample.time > Date.now() / 1000 - SPAN_S || found.includes(sample)).slice(-SPAN_S);
      drawCharts(samples, $);
      $('history').dataset.samples = samples.length;
    } catch {
      samples = []; // the service has gone: it counts anew
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
}
