import { follow } from './charts.js';
import { CODES, MAPS, SATURATED, quantile, radius, resolution, table, taken } from './colours.js';

const $ = (id) => document.getElementById(id);
const PIXEL_MM = 0.075;
const RINGS = [1, 1.2, 1.5, 2, 3, 5, 10, 20];
const PICTURE_MS = 100, STATUS_MS = 500;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// The token comes behind the '#' of the address, which is sent to nobody, or is asked for.
const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  sessionStorage.setItem('token', given);
  history.replaceState(null, '', location.pathname);
}
let asking = null;
function askToken() {
  asking ??= new Promise((done) => {
    $('ask').addEventListener('close', () => {
      sessionStorage.setItem('token', $('token').value.trim());
      asking = null;
      done();
    }, { once: true });
    $('ask').showModal();
  });
  return asking;
}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem('token');
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers, cache: 'no-store' });
  if (answer.status !== 401) return answer;
  await askToken();
  return ask(path, options);
}

// The image: kept in a canvas of its own size, drawn into the visible one with zoom and place.
const canvas = $('canvas'), pen = canvas.getContext('2d'), whole = document.createElement('canvas');
const view = { zoom: 1, x: 0, y: 0, fitted: true };
let picture = null, sequence = 0, metadata = {};
for (const name of Object.keys(MAPS)) $('colours').add(new Option(name));

function fitZoom() {
  const [rows, columns] = picture.head.shape;
  return Math.min(canvas.width / columns, canvas.height / rows);
}
function fit() {
  view.fitted = true;
  if (!picture) return;
  const [rows, columns] = picture.head.shape;
  view.zoom = fitZoom();
  view.x = (canvas.width - columns * view.zoom) / 2;
  view.y = (canvas.height - rows * view.zoom) / 2;
}
function zoomBy(factor, x = canvas.width / 2, y = canvas.height / 2) {
  if (!picture) return;
  const zoom = Math.min(Math.max(view.zoom * factor, fitZoom() / 2), 64);
  view.x = x - (x - view.x) * zoom / view.zoom;
  view.y = y - (y - view.y) * zoom / view.zoom;
  view.zoom = zoom;
  view.fitted = false;
  draw();
}
function move(dx, dy) {
  view.x += dx;
  view.y += dy;
  view.fitted = false;
  draw();
}

function paint() {
  if (!picture) return;
  const { head, pixels } = picture;
  if ($('auto').checked) $('white').value = quantile(pixels, 0.999);
  const colours = table(head.levels, Number($('white').value), $('colours').value, $('scale').value);
  const image = new ImageData(head.columns, head.rows), target = new Uint32Array(image.data.buffer);
  for (let k = 0; k < pixels.length; k++) target[k] = colours[pixels[k]];
  if (whole.width !== head.columns || whole.height !== head.rows) [whole.width, whole.height] = [head.columns, head.rows];
  whole.getContext('2d').putImageData(image, 0, 0);
  $('white-value').textContent = `${(head.levels[$('white').value] * head.scale).toPrecision(3)} ${head.unit}`;
  draw();
}

function draw() {
  const ratio = devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!picture) return;
  if (view.fitted) fit();
  const [rows, columns] = picture.head.shape;
  pen.imageSmoothingEnabled = false;
  pen.drawImage(whole, view.x, view.y, columns * view.zoom, rows * view.zoom);
  if ($('rings').checked) drawRings(ratio);
  if ($('peaks').checked) drawPeaks(ratio);
}

function drawPeaks(ratio) {
  const side = Math.max(8 * ratio, 6 * view.zoom);
  pen.strokeStyle = '#ffd54f';
  pen.lineWidth = ratio;
  for (const [column, row] of picture.head.bragg) {
    pen.strokeRect(view.x + (column + 0.5) * view.zoom - side / 2, view.y + (row + 0.5) * view.zoom - side / 2, side, side);
  }
}

function wavelength() {
  return metadata.wavelength_angstrom ?? (metadata.energy_kev ? 12.398419843320026 / metadata.energy_kev : null);
}
const known = () => metadata.distance_mm && metadata.beam_x != null && metadata.beam_y != null && wavelength();

function drawRings(ratio) {
  if (!known()) return;
  const x = view.x + (metadata.beam_x + 0.5) * view.zoom, y = view.y + (metadata.beam_y + 0.5) * view.zoom;
  pen.strokeStyle = pen.fillStyle = '#4fc3f7';
  pen.lineWidth = ratio;
  pen.font = `${12 * ratio}px system-ui`;
  for (const d of RINGS) {
    const r = radius(d, metadata.distance_mm, wavelength());
    if (r === null) continue;
    const on = r / PIXEL_MM * view.zoom;
    pen.beginPath();
    pen.arc(x, y, on, 0, 2 * Math.PI);
    pen.stroke();
    pen.fillText(`${d} Å`, x + on * Math.SQRT1_2 + 3 * ratio, y - on * Math.SQRT1_2);
  }
  pen.beginPath();
  pen.moveTo(x - 6 * ratio, y);
  pen.lineTo(x + 6 * ratio, y);
  pen.moveTo(x, y - 6 * ratio);
  pen.lineTo(x, y + 6 * ratio);
  pen.stroke();
}

// As few pixels as the screen can show: the service makes each reduction once, for all viewers.
function reduction() {
  if (!picture || !view.fitted) return 1;
  let by = 1;
  while (by < 16 && 1 / (by * 2) >= view.zoom) by *= 2;
  return by;
}

let pending = new AbortController();
let kind = '';
async function pictures() {
  for (;;) {
    const begun = performance.now();
    try {
      if ($('paused').checked || document.hidden) {
        await sleep(200);
        continue;
      }
      const wanted = `&show=${$('show').value}&over=${$('over').value}`;
      if (wanted !== kind) [kind, sequence] = [wanted, 0]; // the picture that is there is of another kind
      const answer = await ask(`/api/picture?after=${sequence}&reduce=${reduction()}&wait_s=5${wanted}`, { signal: pending.signal });
      if (answer.status === 200) {
        picture = taken(await answer.arrayBuffer());
        sequence = picture.head.sequence;
        paint();
        const { head } = picture;
        requestAnimationFrame(() => tellAge(head));
        canvas.setAttribute('aria-label', `Frame ${head.frame}: ${head.peaks} peaks, ${head.holes} pixels never came`);
      } else if (!answer.ok) await sleep(1000);
    } catch (error) {
      sequence = 0; // the service has gone, and counts anew when it is back
      if (error.name !== 'AbortError') await sleep(1000);
    }
    await sleep(Math.max(0, PICTURE_MS - (performance.now() - begun)));
  }
}

// How old it is now that it is on the screen, where its source has the time of day.
function tellAge(head) {
  const age = Date.now() - (head.utc_ns ?? head.timestamp_ns) / 1e6;
  canvas.dataset.shown = `${head.sequence} ${age}`;
  const old = age > -1000 && age < 60000 ? `, ${Math.max(0, Math.round(age))} ms old` : '';
  $('about').textContent = `frame ${head.frame}, ${head.peaks} peaks, ${head.holes} holes, shown 1:${head.reduce}${old}${head.over ? `; ${head.show} of ${head.over} pictures` : ''}`;
}

// The numbers.
const NAMES = { sent: 'sent', complete: 'complete', incomplete: 'incomplete', missing: 'missing', dropped_at_source: 'dropped at source', dropped_by_host: 'dropped by host', wrong_size: 'of another size' };
const REASONS = { ENOUGH_PEAKS: 'enough peaks', TOO_FEW_PEAKS: 'too few peaks: rejected', HAS_HOLES: 'kept for its holes', KEPT_AT_RANDOM: 'kept at random' };
const ALLOWED = { arm: ['idle', 'ended', 'error'], start: ['armed'], stop: ['armed', 'running'], abort: ['armed', 'running', 'error'] };

function rows(body, names, values) {
  body.replaceChildren(...Object.entries(names).map(([key, name]) => {
    const row = document.createElement('tr');
    row.append(Object.assign(document.createElement('td'), { textContent: name }));
    row.append(Object.assign(document.createElement('td'), { textContent: (values[key] ?? 0).toLocaleString() }));
    return row;
  }));
}

function show(status) {
  const state = $('state');
  state.textContent = status.doing === 'arm' ? 'being armed' : status.state;
  state.dataset.state = status.state;
  $('said').textContent = status.said || [status.file, status.address && `sources find it at ${status.address}`].filter(Boolean).join(', ');
  for (const button of document.querySelectorAll('[data-command]')) button.disabled = status.doing !== '' || !ALLOWED[button.dataset.command].includes(status.state);
  rows($('loss'), NAMES, status.loss);
  $('holds').textContent = status.loss.holds ? 'holds' : 'DOES NOT HOLD';
  $('holds').className = status.loss.holds ? 'good' : 'bad';
  const items = status.troubles.map((text) => Object.assign(document.createElement('li'), { textContent: text }));
  if (!items.length) items.push(Object.assign(document.createElement('li'), { textContent: 'nothing that is known', className: 'good' }));
  $('troubles').replaceChildren(...items);
  $('rate').textContent = status.frames_per_s.toFixed(1);
  $('line').textContent = status.line;
  $('ring').value = status.slots ? status.slots_used / status.slots : 0;
  $('slots').textContent = `${status.slots_used} of ${status.slots} slots`;
}

async function statuses() {
  for (let turn = 0; ; turn++) {
    try {
      const answer = await ask('/api/status');
      if (answer.ok) show(await answer.json());
      if (turn % 4 === 0) {
        rows($('verdicts'), REASONS, (await (await ask('/api/verdicts')).json()).reasons);
        metadata = (await (await ask('/api/configuration')).json())?.metadata ?? {};
      }
    } catch {
      $('state').textContent = 'the service does not answer';
      $('state').dataset.state = 'error';
    }
    await sleep(STATUS_MS);
  }
}

async function command(path, options) {
  $('refused').textContent = '';
  try {
    const answer = await ask(path, options);
    if (!answer.ok) $('refused').textContent = (await answer.json()).detail;
  } catch {
    $('refused').textContent = 'the service does not answer';
  }
}
for (const button of document.querySelectorAll('[data-command]')) button.addEventListener('click', () => command(`/api/${button.dataset.command}`, { method: 'POST' }));
$('thresholds').addEventListener('submit', (event) => {
  event.preventDefault();
  const chosen = Object.fromEntries([...new FormData(event.target)].map(([name, text]) => [name, text === '' ? null : Number(text)]));
  command('/api/thresholds', { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(chosen) });
});

// What is done to the image.
for (const id of ['colours', 'scale', 'auto']) $(id).addEventListener('change', paint);
$('white').addEventListener('input', () => { $('auto').checked = false; paint(); });
for (const id of ['show', 'over']) $(id).addEventListener('change', () => {
  $('over-label').hidden = $('show').value === 'newest';
  pending.abort();
  pending = new AbortController();
});
for (const id of ['rings', 'peaks']) $(id).addEventListener('change', draw);
$('fit').addEventListener('click', () => { fit(); draw(); });
$('in').addEventListener('click', () => zoomBy(2));
$('out').addEventListener('click', () => zoomBy(0.5));
addEventListener('resize', draw);
const at = (event) => [event.offsetX, event.offsetY].map((each) => each * (devicePixelRatio || 1));
canvas.addEventListener('wheel', (event) => { event.preventDefault(); zoomBy(event.deltaY < 0 ? 1.25 : 0.8, ...at(event)); }, { passive: false });
const fingers = new Map();
canvas.addEventListener('pointerdown', (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, at(event)); });
for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
canvas.addEventListener('pointermove', (event) => {
  const now = at(event), before = fingers.get(event.pointerId);
  if (before) {
    const others = [...fingers].filter(([id]) => id !== event.pointerId);
    if (others.length) {
      const [, other] = others[0], far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
      zoomBy(far(now, other) / Math.max(1, far(before, other)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else move(now[0] - before[0], now[1] - before[1]);
    fingers.set(event.pointerId, now);
  }
  tell(...now);
});
function tell(x, y) {
  if (!picture) return;
  const { head, pixels } = picture, column = Math.floor((x - view.x) / view.zoom), row = Math.floor((y - view.y) / view.zoom);
  const k = Math.floor(row / head.reduce) * head.columns + Math.floor(column / head.reduce);
  const inside = row >= 0 && column >= 0 && row < head.rows * head.reduce && column < head.columns * head.reduce;
  if (!inside) return void ($('cursor').textContent = '');
  const level = pixels[k], value = level < SATURATED ? `${+(head.levels[level] * head.scale).toPrecision(4)} ${head.unit}` : CODES[level];
  const far = Math.hypot(column - metadata.beam_x, row - metadata.beam_y) * PIXEL_MM;
  const d = known() && far > 0 ? `, ${resolution(far, metadata.distance_mm, wavelength()).toFixed(2)} Å` : '';
  $('cursor').textContent = `column ${column}, row ${row}: ${value}${d}`;
}
const STEP = 40;
const KEYS = {
  '+': () => zoomBy(2), '=': () => zoomBy(2), '-': () => zoomBy(0.5), 0: () => { fit(); draw(); },
  ArrowLeft: () => move(STEP, 0), ArrowRight: () => move(-STEP, 0), ArrowUp: () => move(0, STEP), ArrowDown: () => move(0, -STEP),
  c: () => { $('colours').selectedIndex = ($('colours').selectedIndex + 1) % $('colours').length; paint(); },
  p: () => { $('peaks').checked = !$('peaks').checked; draw(); },
  s: () => { $('show').selectedIndex = ($('show').selectedIndex + 1) % 3; $('show').dispatchEvent(new Event('change')); },
  r: () => { $('rings').checked = !$('rings').checked; draw(); },
  ' ': () => { $('paused').checked = !$('paused').checked; },
};
addEventListener('keydown', (event) => {
  const typing = /^(INPUT|SELECT|BUTTON|TEXTAREA)$/.test(event.target.tagName);
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

pictures();
statuses();
follow(ask, $);
