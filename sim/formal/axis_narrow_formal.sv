// axis_narrow is a queue of the narrow beats that the wide ones are made of: the slices with bytes, tlast on the last.
module axis_narrow_formal #(
    parameter int unsigned DataW = 512,
    parameter int unsigned OutW  = 64,
    parameter int unsigned UserW = 1,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned OutKeepW = OutW / 8,
    localparam int unsigned Slices = DataW / OutW,
    localparam int unsigned BeatW = UserW + 1 + OutKeepW + OutW,
    localparam int unsigned SliceW = Slices > 1 ? $clog2(Slices) : 1
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic [UserW-1:0] s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [    OutW-1:0] m_axis_tdata,
    input logic [OutKeepW-1:0] m_axis_tkeep,
    input logic                m_axis_tlast,
    input logic [   UserW-1:0] m_axis_tuser,
    input logic                m_axis_tvalid,
    input logic                m_axis_tready,

    input logic [SliceW-1:0] slice_q,
    input logic              ready,

    input logic [BeatW-1:0] data_q,
    input logic [BeatW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q,
    input logic             in_step  // copies of slice_q
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (UserW + 1 + KeepW + DataW),
      .Assume(1'b1)
  ) u_source (
      .clk,
      .rst,
      .tdata_i ({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .tvalid_i(s_axis_tvalid),
      .tready_i(s_axis_tready)
  );

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  // Slices with bytes of the wide beat on offer, at least one; how many are given on.
  logic [SliceW:0] slices, done_q;
  logic [1:0] count;
  logic gives, last;
  logic [BeatW-1:0] wanted;

  always_comb begin
    slices = (SliceW + 1)'(1);
    for (int unsigned s = 1; s < Slices; s++) if (s_axis_tkeep[s*OutKeepW]) slices = (SliceW + 1)'(s + 1);
  end

  // Bytes have no gap.
  always_comb if (s_axis_tvalid) assume ((s_axis_tkeep & (s_axis_tkeep + 1'b1)) == '0);

  assign gives  = s_axis_tvalid && count != 2'd2;
  assign last   = done_q + 1'b1 == slices;
  assign wanted = {
    s_axis_tuser,
    s_axis_tlast && last,
    s_axis_tkeep[32'(done_q)*OutKeepW+:OutKeepW],
    s_axis_tdata[32'(done_q)*OutW+:OutW]
  };

  always_ff @(posedge clk) begin
    if (gives) done_q <= last ? '0 : done_q + 1'b1;
    if (rst) done_q <= '0;
  end

  queue_rule #(
      .DataW(BeatW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(wanted),
      .push_i     (gives),
      .pop_data_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != 2'd0));
      if (s_axis_tvalid) a_takes : assert (s_axis_tready == (gives && last));
      i_slice : assert ((SliceW + 1)'(slice_q) == done_q);
      i_inside : assert (s_axis_tvalid ? done_q < slices : done_q == '0);
      i_in_step : assert (in_step);
      i_skid : assert (valid_q || !skid_valid_q);
    end
  end

endmodule

bind axis_narrow axis_narrow_formal #(
    .DataW(DataW),
    .OutW (OutW),
    .UserW(UserW)
) u_formal (
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .in_step(slices_q == {GROUPS{slice_q}}),
    .*
);
