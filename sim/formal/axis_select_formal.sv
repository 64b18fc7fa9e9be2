// axis_select is a queue of the beats that it takes, and takes whole packets, each from the source that its selection
// names. It is shown for one source, any.
module axis_select_formal #(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Sources = 2,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned SelW  = $clog2(Sources),
    localparam int unsigned BeatW = DataW + KeepW + 2
) (
    input logic clk,
    input logic rst,

    input logic [SelW-1:0] s_axis_sel_tdata,
    input logic            s_axis_sel_tvalid,
    input logic            s_axis_sel_tready,

    input logic [Sources-1:0][DataW-1:0] s_axis_tdata,
    input logic [Sources-1:0][KeepW-1:0] s_axis_tkeep,
    input logic [Sources-1:0]            s_axis_tlast,
    input logic [Sources-1:0]            s_axis_tuser,
    input logic [Sources-1:0]            s_axis_tvalid,
    input logic [Sources-1:0]            s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [BeatW-1:0] data_q,
    input logic [BeatW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q,
    input logic             in_step  // copies of the selection
);

  logic [SelW-1:0] any_source;  // a constant, the solver's choice
  logic [Sources-1:0] taken;
  logic inside_q;  // a packet
  logic from_q;  // of the source that is followed

  assign taken = s_axis_tvalid & s_axis_tready;

  always_ff @(posedge clk) begin
    any_source <= any_source;
    if (taken != '0) begin
      inside_q <= (taken & s_axis_tlast) == '0;
      from_q   <= taken[any_source];
    end
    if (rst) inside_q <= 1'b0;
  end

  always_comb assume (32'(any_source) < Sources);
  always_comb assume (!s_axis_sel_tvalid || 32'(s_axis_sel_tdata) < Sources);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (SelW),
      .Assume(1'b1)
  ) u_selection (
      .clk,
      .rst,
      .tdata_i (s_axis_sel_tdata),
      .tvalid_i(s_axis_sel_tvalid),
      .tready_i(s_axis_sel_tready)
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

  logic [1:0] count;
  logic [BeatW-1:0] chosen;
  assign chosen = {
    s_axis_tuser[s_axis_sel_tdata],
    s_axis_tlast[s_axis_sel_tdata],
    s_axis_tkeep[s_axis_sel_tdata],
    s_axis_tdata[s_axis_sel_tdata]
  };

  queue_rule #(
      .DataW(BeatW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(chosen),
      .push_i     (taken != '0),
      .pop_data_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  always_comb begin
    if (!rst) begin
      a_source : assert (!taken[any_source] || (s_axis_sel_tvalid && s_axis_sel_tdata == any_source));
      a_whole : assert (!inside_q || !taken[any_source] || from_q);
      a_selection : assert ((s_axis_sel_tvalid && s_axis_sel_tready) == ((taken & s_axis_tlast) != '0));
      a_offers : assert (m_axis_tvalid == (count != '0));
      if (s_axis_sel_tvalid && s_axis_sel_tdata == any_source)
        a_accepts : assert (s_axis_tready[any_source] == (count != 2'd2));
      i_in_step : assert (in_step);
      if (inside_q) i_inside : assert (s_axis_sel_tvalid && (s_axis_sel_tdata == any_source) == from_q);
    end
  end

endmodule

bind axis_select axis_select_formal #(
    .DataW  (DataW),
    .Sources(Sources)
) u_formal (
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .in_step(!waits_q || (s_axis_sel_tvalid && sel_q == {GROUPS{s_axis_sel_tdata}})),
    .*
);
