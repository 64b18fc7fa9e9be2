// axis_widen gives every narrow beat on, in its place of a wide beat, which ends with the packet or when it is full. One wide beat,
// any, is followed.
module axis_widen_formal #(
    parameter int unsigned InW   = 64,
    parameter int unsigned OutW  = 512,
    parameter int unsigned UserW = 1,

    localparam int unsigned InKeepW = InW / 8,
    localparam int unsigned OutKeepW = OutW / 8,
    localparam int unsigned Slices = OutW / InW,
    localparam int unsigned SliceW = $clog2(Slices),
    localparam int unsigned BeatW = UserW + 1 + OutKeepW + OutW
) (
    input logic clk,
    input logic rst,

    input logic [    InW-1:0] s_axis_tdata,
    input logic [InKeepW-1:0] s_axis_tkeep,
    input logic               s_axis_tlast,
    input logic [  UserW-1:0] s_axis_tuser,
    input logic               s_axis_tvalid,
    input logic               s_axis_tready,

    input logic [    OutW-1:0] m_axis_tdata,
    input logic [OutKeepW-1:0] m_axis_tkeep,
    input logic                m_axis_tlast,
    input logic [   UserW-1:0] m_axis_tuser,
    input logic                m_axis_tvalid,
    input logic                m_axis_tready,

    input logic [Slices-1:0][InW-1:0] data_q,
    input logic [SliceW-1:0] slice_q,
    input logic in_step  // copies of the control
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  // A narrow beat of the wide one that is being filled, any: what went in, and so what must come out.
  logic [SliceW-1:0] any_slice, slices_q;
  logic [InW-1:0] data_at_q;
  logic taken, popped, completes, there;
  logic [1:0] count_q;  // wide beats inside
  logic [InW-1:0] data, data_out_q;
  logic [InKeepW-1:0] keep, keep_out_q;
  logic last_out_q;
  logic [UserW-1:0] user_out_q;

  assign taken = s_axis_tvalid && s_axis_tready;
  assign popped = m_axis_tvalid && m_axis_tready;
  assign completes = s_axis_tlast || slices_q == SliceW'(Slices - 1);
  assign there = any_slice < slices_q;
  assign data = there ? data_at_q : s_axis_tdata;
  assign keep = there ? '1 : any_slice == slices_q ? s_axis_tkeep : '0;

  always_ff @(posedge clk) begin
    any_slice <= any_slice;
    count_q   <= count_q + 2'(taken && completes) - 2'(popped);
    if (taken) begin
      slices_q <= completes ? '0 : slices_q + 1'b1;
      if (slices_q == any_slice) data_at_q <= s_axis_tdata;
      if (completes) begin
        data_out_q <= data;
        keep_out_q <= keep;
        last_out_q <= s_axis_tlast;
        user_out_q <= s_axis_tuser;
      end
    end
    if (rst) begin
      slices_q <= '0;
      count_q  <= '0;
    end
  end

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count_q != '0) && count_q <= 2'd1);
      a_accepts : assert (s_axis_tready == !(completes && count_q != '0));
      if (popped) begin
        a_keep : assert (m_axis_tkeep[32'(any_slice)*InKeepW+:InKeepW] == keep_out_q);
        if (keep_out_q != '0) a_data : assert (m_axis_tdata[32'(any_slice)*InW+:InW] == data_out_q);
        a_end : assert (m_axis_tlast == last_out_q && m_axis_tuser == user_out_q);
      end
      i_in_step : assert (in_step);
      i_slice : assert (slice_q == slices_q);
      if (there) i_data : assert (data_q[any_slice] == data_at_q);
      if (count_q != '0) begin
        i_out :
        assert (m_axis_tkeep[32'(any_slice)*InKeepW+:InKeepW] == keep_out_q &&
            (keep_out_q == '0 || m_axis_tdata[32'(any_slice)*InW+:InW] == data_out_q) &&
            m_axis_tlast == last_out_q && m_axis_tuser == user_out_q);
      end
    end
  end

endmodule

bind axis_widen axis_widen_formal #(
    .InW  (InW),
    .OutW (OutW),
    .UserW(UserW)
) u_formal (
    .in_step(slices_q == {GROUPS{slice_q}} && out_valids_q == {GROUPS{out_valid_q}}),
    .*
);
