// axis_drain: the sink gets whole packets, or the beginning of one with an end of one byte behind it; a source is never held up while it
// drains. What passes is seen where it goes into the output register, which is a queue.
module axis_drain_formal #(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = 1 + KeepW + DataW
) (
    input logic clk,
    input logic rst,

    input logic drain_i,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic dropped_o,

    input logic in_packet_q,
    input logic open_q,
    input logic swallows_q,

    // What goes into the output register, and what it has
    input logic [BeatW-1:0] in_data,
    input logic             in_valid,
    input logic             in_ready,
    input logic [BeatW-1:0] data_q,
    input logic [BeatW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (BeatW),
      .Assume(1'b1)
  ) u_source (
      .clk,
      .rst,
      .tdata_i ({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .tvalid_i(s_axis_tvalid),
      .tready_i(s_axis_tready)
  );

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  logic [1:0] count;

  queue_rule #(
      .DataW(BeatW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(in_data),
      .push_i     (in_valid && in_ready),
      .pop_data_i ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, valid_q ? data_q : skid_q})
  );

  logic gives, passes, taken, drain_q, begun_q;
  logic ends;  // with a byte of zero
  logic inside_q;  // a packet of the source
  logic open;  // the sink's packet has begun and not ended
  logic lacks_q;  // a beat of the source's packet was swallowed

  initial begun_q = 1'b0;

  assign ends = in_data[BeatW-1:DataW] == {1'b1, KeepW'(1)} && in_data[7:0] == '0;
  assign gives = in_valid && in_ready;
  assign taken = s_axis_tvalid && s_axis_tready;
  assign passes = gives && taken && in_data == {s_axis_tlast, s_axis_tkeep, s_axis_tdata} && !(open && lacks_q);

  always_ff @(posedge clk) begin
    begun_q <= !rst;
    drain_q <= drain_i;
    if (taken) begin
      inside_q <= !s_axis_tlast;
      lacks_q  <= !s_axis_tlast && (lacks_q || !gives || swallows_q);
    end
    if (gives) open <= !in_data[BeatW-1];
    if (rst) begin
      inside_q <= 1'b0;
      lacks_q <= 1'b0;
      open <= 1'b0;
    end
  end

  always_comb begin
    if (!rst) begin
      a_takes : assert (!(begun_q && drain_q) || s_axis_tready);
      if (gives && !swallows_q) begin
        a_passes : assert (passes && !lacks_q);
        a_in_step : assert (open == inside_q);
      end
      if (gives && swallows_q) a_ends : assert (open && ends);
      if (swallows_q && open) a_offers_the_end : assert (in_valid);
      if (taken && !gives) a_swallows : assert (swallows_q);
      if (begun_q && !drain_q && !inside_q && !open) a_goes_on : assert (!swallows_q);
      a_counted : assert (dropped_o == (taken && swallows_q && s_axis_tlast));

      i_inside : assert (in_packet_q == inside_q);
      i_open : assert (open_q == open);
      i_lacks : assert (!lacks_q || (swallows_q && inside_q));
      i_step : assert (swallows_q || open == inside_q);
    end
  end

endmodule

bind axis_drain axis_drain_formal #(
    .DataW(DataW)
) u_formal (
    .in_data     ({closes || s_axis_tlast, keep, data}),
    .in_valid    (valid),
    .in_ready    (ready),
    .data_q      (u_reg.data_q),
    .skid_q      (u_reg.skid_q),
    .valid_q     (u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .*
);
