// Passes packets of a line, which cannot wait, on over a wider bus. A wide beat leaves in the cycle after its last byte; tuser is that of
// its last narrow one.
module line_widen #(
    parameter int unsigned InW  = 64,
    parameter int unsigned OutW = 512,

    localparam int unsigned InKeepW = InW / 8,
    localparam int unsigned OutKeepW = OutW / 8
) (
    input logic clk,
    input logic rst,

    input logic [    InW-1:0] s_axis_tdata,
    input logic [InKeepW-1:0] s_axis_tkeep,
    input logic               s_axis_tlast,
    input logic               s_axis_tuser,
    input logic               s_axis_tvalid,

    output logic [    OutW-1:0] m_axis_tdata,
    output logic [OutKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic                m_axis_tuser,
    output logic                m_axis_tvalid
);

  localparam int unsigned SLICES = OutW / InW;
  localparam int unsigned SLICE_W = $clog2(SLICES);

  if (InW < 8 || OutW < 2 * InW || OutW % InW != 0 || (SLICES & (SLICES - 1)) != 0) begin : gen_check
    $error("%m: OutW = %0d must be InW = %0d times a power of two, 2 or more", OutW, InW);
  end

  logic [SLICES-1:0][InW-1:0] data_q;
  logic [SLICES-1:0][InKeepW-1:0] keep_q;
  logic [SLICE_W-1:0] slice_q;
  logic last_q, user_q, valid_q, completes;

  assign completes = s_axis_tlast || slice_q == SLICE_W'(SLICES - 1);

  always_ff @(posedge clk) begin
    valid_q <= s_axis_tvalid && completes;
    if (s_axis_tvalid) begin
      slice_q <= completes ? '0 : slice_q + 1'b1;
      data_q[slice_q] <= s_axis_tdata;
      if (slice_q == '0) keep_q <= '0;
      keep_q[slice_q] <= s_axis_tkeep;
      last_q <= s_axis_tlast;
      user_q <= s_axis_tuser;
    end
    if (rst) begin
      slice_q <= '0;
      valid_q <= 1'b0;
    end
  end

  assign m_axis_tdata = data_q;
  assign m_axis_tkeep = keep_q;
  assign m_axis_tlast = last_q;
  assign m_axis_tuser = user_q;
  assign m_axis_tvalid = valid_q;

endmodule
