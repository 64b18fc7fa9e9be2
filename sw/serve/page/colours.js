// Levels of a picture to colours. A picture is a byte a pixel: below 252 a value, of which the head has a list; above, a code.

export const SATURATED = 252, MASKED = 253, INVALID = 254, HOLE = 255;
export const CODES = { [SATURATED]: 'saturated', [MASKED]: 'masked', [INVALID]: 'invalid', [HOLE]: 'never came' };
const CODE_COLOURS = { [SATURATED]: [255, 45, 45], [MASKED]: [74, 79, 87], [INVALID]: [255, 149, 0], [HOLE]: [255, 0, 255] };

// Colours at equal steps; between them they are interpolated.
export const MAPS = {
  grey: [[0, 0, 0], [255, 255, 255]],
  'dark on light': [[255, 255, 255], [0, 0, 0]],
  heat: [[0, 0, 0], [128, 0, 0], [255, 80, 0], [255, 200, 0], [255, 255, 255]],
  viridis: [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]],
};

export function colourAt(map, t) {
  const steps = map.length - 1, at = Math.min(Math.max(t, 0), 1) * steps, k = Math.min(Math.floor(at), steps - 1);
  return [0, 1, 2].map((c) => Math.round(map[k][c] + (map[k + 1][c] - map[k][c]) * (at - k)));
}

export function share(value, low, white, scale) {
  const t = Math.min(Math.max((value - low) / Math.max(white - low, 1e-9), 0), 1);
  if (scale === 'sqrt') return Math.sqrt(t);
  if (scale === 'log') return Math.log1p(t * 1000) / Math.log(1001);
  return t;
}

// The colour of each of 256 levels, as a canvas has it in memory (RGBA, little endian).
export function table(levels, whiteLevel, mapName, scale) {
  const colours = new Uint32Array(256), low = levels[0], white = levels[Math.min(whiteLevel, levels.length - 1)];
  for (let level = 0; level < 256; level++) {
    const [r, g, b] = CODE_COLOURS[level] ?? colourAt(MAPS[mapName], share(levels[level], low, white, scale));
    colours[level] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  }
  return colours;
}

// The level below which so much of the pixels without a code lie.
export function quantile(pixels, part, step = 7) {
  const counts = new Uint32Array(256);
  let total = 0;
  for (let k = 0; k < pixels.length; k += step) if (pixels[k] < SATURATED) { counts[pixels[k]]++; total++; }
  let sum = 0;
  for (let level = 0; level < SATURATED; level++) if ((sum += counts[level]) >= part * total) return Math.max(level, 1);
  return SATURATED - 1;
}

// Bragg: the resolution in angstrom at a distance of r mm from the beam, detector at distance mm, and back.
export const resolution = (r, distance, wavelength) => wavelength / (2 * Math.sin(Math.atan(r / distance) / 2));
export const radius = (d, distance, wavelength) => {
  const sine = wavelength / (2 * d), angle = 2 * Math.asin(sine);
  return sine < 1 && angle < Math.PI / 2 ? distance * Math.tan(angle) : null;
};

// A picture as the service sends it: length of the head, the head in JSON, a byte a pixel.
export function taken(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { head, pixels: new Uint8Array(buffer, 4 + length, head.rows * head.columns) };
}
