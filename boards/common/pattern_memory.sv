// A picture in block RAM as an AXI4 read slave: images of 512 lines of 1024 pixels of 2 bytes, one at each 1 MiB, as many as there are
// addresses. Each shows the same picture of 64 lines of 128 points, moved by one point more, every point 8 by 8 pixels with a gradient
// in it, so that no two neighbours are alike. Model: pattern.image.
module pattern_memory
  import axi_pkg::*;
#(
    parameter int unsigned AddrW = 32,

    localparam int unsigned DataW = 64
) (
    input logic clk,
    input logic rst,

    // One ID, bursts of type INCR of whole beats
    input  logic [AddrW-1:0] s_axi_araddr,
    input  logic       [7:0] s_axi_arlen,
    input  logic             s_axi_arvalid,
    output logic             s_axi_arready,
    output logic [DataW-1:0] s_axi_rdata,
    output logic             s_axi_rlast,
    output logic             s_axi_rvalid,
    input  logic             s_axi_rready
);

  localparam int unsigned COLUMNS_W = 7;  // of points
  localparam int unsigned LINES_W = 6;
  localparam int unsigned POINTS = 1 << (COLUMNS_W + LINES_W);

  typedef logic [13:0] adu_t;  // with gain code 00 above it: a raw word of a JUNGFRAU's G0

  // What an address is of. Bytes of a beat are left out.
  typedef struct packed {
    logic [COLUMNS_W-1:0] image;   // the lowest bits of its number
    logic [LINES_W-1:0]   line;
    logic [2:0]           part_y;  // line of pixels in the point
    logic [COLUMNS_W-1:0] column;
    logic                 part_x;  // half of it
  } place_t;

  localparam int unsigned PLACE_W = $bits(place_t);

  if (AddrW < PLACE_W + 3) begin : gen_check
    $error("%m: AddrW = %0d must be %0d or more", AddrW, PLACE_W + 3);
  end

  // Rings around the middle
  function automatic adu_t point(input int unsigned index);
    int x, y, ring;
    x = int'(index % (1 << COLUMNS_W)) - (1 << (COLUMNS_W - 1));
    y = int'(index >> COLUMNS_W) - (1 << (LINES_W - 1));
    ring = (x * x + y * y) % 1024;
    return adu_t'(1000 + 24 * (ring < 512 ? ring : 1023 - ring));
  endfunction

  (* ram_style = "block" *)
  adu_t points[POINTS];

  initial begin
    for (int unsigned k = 0; k < POINTS; k++) points[k] = point(k);
  end

  // A burst; then two registers on the way of its beats
  place_t place_q;
  logic [7:0] left_q;
  logic busy_q, take, moves;
  adu_t point_q, base_q;
  logic [2:0] part_y_q, sum_y_q;
  logic part_x_q, sum_x_q, last_q, sum_last_q, valid_q, sum_valid_q;

  assign moves = !sum_valid_q || s_axi_rready;
  assign s_axi_arready = !busy_q || (moves && left_q == '0);
  assign take = s_axi_arvalid && s_axi_arready;

  always_ff @(posedge clk) begin
    if (moves) begin
      point_q <= points[{place_q.line, COLUMNS_W'(place_q.column + place_q.image)}];
      part_y_q <= place_q.part_y;
      part_x_q <= place_q.part_x;
      last_q <= left_q == '0;
      valid_q <= busy_q;
      base_q <= point_q;
      sum_y_q <= part_y_q;
      sum_x_q <= part_x_q;
      sum_last_q <= last_q;
      sum_valid_q <= valid_q;
      if (busy_q) begin
        place_q <= place_q + 1'b1;
        left_q  <= left_q - 1'b1;
        busy_q  <= left_q != '0;
      end
    end
    if (take) begin
      place_q <= PLACE_W'(s_axi_araddr >> 3);
      left_q  <= s_axi_arlen;
      busy_q  <= 1'b1;
    end
    if (rst) begin
      busy_q <= 1'b0;
      valid_q <= 1'b0;
      sum_valid_q <= 1'b0;
    end
  end

  for (genvar k = 0; k < 4; k++) begin : gen_pixels
    assign s_axi_rdata[16*k+:16] = 16'(base_q + adu_t'({sum_y_q, sum_x_q, 2'(k)}));
  end
  assign s_axi_rlast  = sum_last_q;
  assign s_axi_rvalid = sum_valid_q;

  logic unused;
  assign unused = ^s_axi_araddr;

endmodule
