// Passes packets on over a narrower bus, one narrow beat a clock, no bubble. tuser goes with all beats of its wide one.
// Every GroupW bits of a wide beat have their own copy of what selects them, so that none drives more; all copies are always equal.
module axis_narrow #(
    parameter int unsigned DataW = 512,
    parameter int unsigned OutW  = 64,
    parameter int unsigned UserW = 1,
    parameter int unsigned GroupW = 256,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned OutKeepW = OutW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic [UserW-1:0] s_axis_tuser,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [    OutW-1:0] m_axis_tdata,
    output logic [OutKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic [   UserW-1:0] m_axis_tuser,
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready
);

  localparam int unsigned SLICES = DataW / OutW;
  localparam int unsigned SLICE_W = SLICES > 1 ? $clog2(SLICES) : 1;
  localparam int unsigned GROUPS = SLICES > 1 ? (DataW + GroupW - 1) / GroupW : 1;

  if (OutW < 8 || DataW < OutW || DataW % OutW != 0 || (SLICES & (SLICES - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be OutW = %0d times a power of two", DataW, OutW);
  end

  logic [SLICES-1:0][OutW-1:0] data;
  logic [SLICES-1:0][OutKeepW-1:0] keep;
  logic [SLICES-1:0] used;  // the slice behind has bytes
  logic [OutW-1:0] out_data;
  logic [SLICE_W-1:0] slice_q;
  (* keep, dont_merge *)logic [GROUPS-1:0][SLICE_W-1:0] slices_q;
  logic over, ready;

  assign data = s_axis_tdata;
  assign keep = s_axis_tkeep;

  always_comb begin
    used = '0;
    for (int unsigned s = 0; s + 1 < SLICES; s++) used[s] = keep[s+1][0];
    for (int unsigned k = 0; k < OutKeepW; k++) begin
      out_data[8*k+:8] = data[slices_q[k*GROUPS/OutKeepW]][8*k+:8];
    end
  end

  assign slice_q = slices_q[0];

  assign over = !used[slice_q];
  assign s_axis_tready = ready && over;

  always_ff @(posedge clk) begin
    for (int unsigned g = 0; g < GROUPS; g++) begin
      if (s_axis_tvalid && ready) slices_q[g] <= over ? '0 : slices_q[g] + 1'b1;
      if (rst) slices_q[g] <= '0;
    end
  end

  axis_reg #(
      .DataW(UserW + 1 + OutKeepW + OutW)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_tuser, s_axis_tlast && over, keep[slice_q], out_data}),
      .s_axis_tvalid,
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
