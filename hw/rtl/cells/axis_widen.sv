// Passes packets on over a wider bus. A wide beat leaves when its last byte is in; tuser is that of its last narrow one. One bubble
// where a wide beat of a single narrow one follows another, and none else.
module axis_widen #(
    parameter int unsigned InW   = 64,
    parameter int unsigned OutW  = 512,
    parameter int unsigned UserW = 1,

    localparam int unsigned InKeepW = InW / 8,
    localparam int unsigned OutKeepW = OutW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [    InW-1:0] s_axis_tdata,
    input  logic [InKeepW-1:0] s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic [  UserW-1:0] s_axis_tuser,
    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,

    output logic [    OutW-1:0] m_axis_tdata,
    output logic [OutKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic [   UserW-1:0] m_axis_tuser,
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready
);

  localparam int unsigned SLICES = OutW / InW;
  localparam int unsigned SLICE_W = SLICES > 1 ? $clog2(SLICES) : 1;

  if (InW < 8 || OutW < InW || OutW % InW != 0 || (SLICES & (SLICES - 1)) != 0) begin : gen_check
    $error("%m: OutW = %0d must be InW = %0d times a power of two", OutW, InW);
  end

  // The narrow beats of a wide one; the last of them goes straight to the output.
  logic [SLICES-1:0][InW-1:0] data_q, out_data, out_data_q;
  logic [SLICES-1:0][InKeepW-1:0] out_keep, out_keep_q;
  logic [UserW-1:0] out_user_q;
  logic [SLICE_W-1:0] slice_q;
  logic out_last_q, out_valid_q, completes, take;

  assign completes = s_axis_tlast || slice_q == SLICE_W'(SLICES - 1);
  assign s_axis_tready = !(completes && out_valid_q);
  assign take = s_axis_tvalid && s_axis_tready;

  always_comb begin
    for (int unsigned s = 0; s < SLICES; s++) begin
      out_data[s] = SLICE_W'(s) < slice_q ? data_q[s] : s_axis_tdata;
      out_keep[s] = '0;
      if (SLICE_W'(s) < slice_q) out_keep[s] = '1;
      if (SLICE_W'(s) == slice_q) out_keep[s] = s_axis_tkeep;
    end
  end

  always_ff @(posedge clk) begin
    if (m_axis_tready) out_valid_q <= 1'b0;
    if (take) begin
      slice_q <= completes ? '0 : slice_q + 1'b1;
      data_q[slice_q] <= s_axis_tdata;
    end
    if (take && completes) begin
      out_valid_q <= 1'b1;
      out_data_q  <= out_data;
      out_keep_q  <= out_keep;
      out_last_q  <= s_axis_tlast;
      out_user_q  <= s_axis_tuser;
    end
    if (rst) begin
      slice_q <= '0;
      out_valid_q <= 1'b0;
    end
  end

  assign m_axis_tdata = out_data_q;
  assign m_axis_tkeep = out_keep_q;
  assign m_axis_tlast = out_last_q;
  assign m_axis_tuser = out_user_q;
  assign m_axis_tvalid = out_valid_q;

endmodule
