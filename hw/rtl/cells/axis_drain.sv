// Lets packets pass to a sink that may stop for good. While it is told to drain, packets are swallowed, so that all before it comes to
// its end. What the sink was offered stays on offer; a packet of which it gets a part only is closed by a beat of one byte. One cycle
// of latency, full throughput.
module axis_drain #(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic drain_i,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic dropped_o  // pulse: a packet was swallowed, whole or its rest
);

  logic in_packet_q, in_packet;  // of the source
  logic open_q, open;  // the sink's packet has begun and not ended
  logic swallows_q;  // drains, or is in the middle of what it has begun to swallow
  logic beat, closes, valid, ready;
  logic [DataW-1:0] data;
  logic [KeepW-1:0] keep;

  assign s_axis_tready = swallows_q || ready;
  assign beat = s_axis_tvalid && s_axis_tready;
  assign closes = swallows_q && open_q;
  assign valid = swallows_q ? closes : s_axis_tvalid;

  // Of the beat that closes a packet only the first byte counts.
  always_comb begin
    data = s_axis_tdata;
    if (closes) data[7:0] = '0;
  end

  assign keep = closes ? KeepW'(1) : s_axis_tkeep;
  assign in_packet = beat ? !s_axis_tlast : in_packet_q;
  assign open = valid && ready ? !closes && !s_axis_tlast : open_q;
  assign dropped_o = beat && swallows_q && s_axis_tlast;

  always_ff @(posedge clk) begin
    in_packet_q <= in_packet;
    open_q <= open;
    swallows_q <= drain_i || (swallows_q && (in_packet || open));
    if (rst) begin
      in_packet_q <= 1'b0;
      open_q <= 1'b0;
      swallows_q <= 1'b0;
    end
  end

  axis_reg #(
      .DataW(DataW + KeepW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({closes || s_axis_tlast, keep, data}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
