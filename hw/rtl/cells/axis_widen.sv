// Passes packets on over a wider bus. A wide beat leaves when its last byte is in; tuser is that of its last narrow one. One bubble
// where a wide beat of a single narrow one follows another, and none else. Every GroupW bits of a wide beat have their own copy of the
// control, so that none drives more; all copies are always equal.
module axis_widen #(
    parameter int unsigned InW   = 64,
    parameter int unsigned OutW  = 512,
    parameter int unsigned UserW = 1,
    parameter int unsigned GroupW = 128,

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
  localparam int unsigned BEAT_W = UserW + 1 + OutKeepW + OutW;
  localparam int unsigned GROUPS = (BEAT_W + GroupW - 1) / GroupW;

  if (InW < 8 || OutW < InW || OutW % InW != 0 || (SLICES & (SLICES - 1)) != 0) begin : gen_check
    $error("%m: OutW = %0d must be InW = %0d times a power of two", OutW, InW);
  end

  // The narrow beats of a wide one; the last of them goes straight to the output.
  logic [SLICES-1:0][InW-1:0] data_q;
  logic [OutW-1:0] data, out_data;
  logic [SLICES-1:0][InKeepW-1:0] out_keep;
  logic [BEAT_W-1:0] out, out_q;
  logic [SLICE_W-1:0] slice_q;
  logic out_valid_q, completes, take;
  (* keep, dont_merge *)logic [GROUPS-1:0][SLICE_W-1:0] slices_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] out_valids_q;

  assign data = data_q;
  assign slice_q = slices_q[GROUPS-1];
  assign out_valid_q = out_valids_q[GROUPS-1];
  assign completes = s_axis_tlast || slice_q == SLICE_W'(SLICES - 1);
  assign s_axis_tready = !(completes && out_valid_q);
  assign take = s_axis_tvalid && s_axis_tready;

  always_comb begin
    for (int unsigned k = 0; k < OutKeepW; k++) begin
      out_data[8*k+:8] = SLICE_W'(k / InKeepW) < slices_q[8*k/GroupW] ? data[8*k+:8] : s_axis_tdata[8*(k%InKeepW)+:8];
    end
    for (int unsigned s = 0; s < SLICES; s++) begin
      out_keep[s] = '0;
      if (SLICE_W'(s) < slice_q) out_keep[s] = '1;
      if (SLICE_W'(s) == slice_q) out_keep[s] = s_axis_tkeep;
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned s = 0; s < SLICES; s++) if (take && slice_q == SLICE_W'(s)) data_q[s] <= s_axis_tdata;
  end

  assign out = {s_axis_tuser, s_axis_tlast, out_keep, out_data};

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > BEAT_W ? BEAT_W - AT : GroupW;

    always_ff @(posedge clk) begin
      if (take) slices_q[g] <= completes ? '0 : slices_q[g] + 1'b1;
      if (out_valids_q[g]) begin
        if (m_axis_tready) out_valids_q[g] <= 1'b0;
      end else if (s_axis_tvalid && completes) begin
        out_valids_q[g] <= 1'b1;
        out_q[AT+:WIDTH] <= out[AT+:WIDTH];
      end
      if (rst) begin
        slices_q[g] <= '0;
        out_valids_q[g] <= 1'b0;
      end
    end
  end

  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = out_q;
  assign m_axis_tvalid = out_valid_q;

endmodule
