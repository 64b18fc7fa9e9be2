// Fetches the constants of the correction ahead of the pixels, for frame after frame: six planes, plane k at
// base + k * pitch, each with one word a pixel. Layout: jf_constants.pack.
module jf_constants
  import axi_pkg::*;
  import jf_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned Depth = 512,  // beats read ahead
    parameter int unsigned MaxBurst = 256  // beats of the longest burst
) (
    input logic clk,
    input logic rst,

    // Constant while it runs, and until it is idle
    input logic        run_i,
    input logic [63:0] base_i,         // base and pitch: multiples of 4 KiB
    input logic [31:0] pitch_i,
    input logic [31:0] image_bytes_i,

    // One packet a frame; where memory answered with an error, tuser
    output logic [PLANES-1:0][DataW-1:0] m_axis_constant_tdata,
    output logic                         m_axis_constant_tlast,
    output logic                         m_axis_constant_tuser,
    output logic                         m_axis_constant_tvalid,
    input  logic                         m_axis_constant_tready,

    // AXI4 read masters, one a plane
    output axi_read_request_t  [PLANES-1:0]            m_axi_o,
    input  axi_read_response_t [PLANES-1:0]            m_axi_i,
    input  logic               [PLANES-1:0][DataW-1:0] m_axi_rdata,

    output logic idle_o  // stopped, and no read outstanding
);

  localparam int unsigned LANES = DataW / 8;
  localparam int unsigned LANES_W = $clog2(LANES);

  logic [PLANES-1:0][AddrW-1:0] base_q;
  logic [31:0] beats_q;
  logic [PLANES-1:0] last, bad, valid, idle;
  logic run_q, taken;

  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < PLANES; k++) base_q[k] <= AddrW'(k == 0 ? base_i : 64'(base_q[k-1]) + 64'(pitch_i));
    beats_q <= 32'((33'(image_bytes_i) + 33'(LANES - 1)) >> LANES_W);
  end

  // The bases are known a clock after each other.
  logic [PLANES:0] started_q;
  always_ff @(posedge clk) begin
    started_q <= {started_q[PLANES-1:0], run_i};
    if (rst || !run_i) started_q <= '0;
  end
  assign run_q = run_i && started_q[PLANES];

  assign m_axis_constant_tvalid = &valid;
  assign m_axis_constant_tlast = last[0];
  assign m_axis_constant_tuser = |bad;
  assign taken = m_axis_constant_tvalid && m_axis_constant_tready;
  assign idle_o = &idle;

  for (genvar k = 0; k < PLANES; k++) begin : gen_plane
    plane_reader #(
        .DataW(DataW),
        .AddrW(AddrW),
        .Depth(Depth),
        .MaxBurst(MaxBurst)
    ) u_plane (
        .clk,
        .rst,
        .run_i        (run_q),
        .base_i       (base_q[k]),
        .beats_i      (beats_q),
        .m_axis_tdata (m_axis_constant_tdata[k]),
        .m_axis_tlast (last[k]),
        .m_axis_tuser (bad[k]),
        .m_axis_tvalid(valid[k]),
        .m_axis_tready(taken),
        .m_axi_o      (m_axi_o[k]),
        .m_axi_i      (m_axi_i[k]),
        .m_axi_rdata  (m_axi_rdata[k]),
        .idle_o       (idle[k])
    );
  end

  // All planes end together.
  logic unused;
  assign unused = ^last[PLANES-1:1];

endmodule
