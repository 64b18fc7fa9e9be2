// Two streams of whole packets to one line, in turn where both wait. What has gaps on one side has them on the other.
module packet_turns #(
    parameter int unsigned DataW = 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_a_tdata,
    input  logic             s_axis_a_tlast,
    input  logic             s_axis_a_tuser,
    input  logic             s_axis_a_tvalid,
    output logic             s_axis_a_tready,

    input  logic [DataW-1:0] s_axis_b_tdata,
    input  logic             s_axis_b_tlast,
    input  logic             s_axis_b_tuser,
    input  logic             s_axis_b_tvalid,
    output logic             s_axis_b_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  logic inside_q, was_b_q;  // a packet is under way; it, or the last one, is of b
  logic from_b, valid, last, ready;

  assign from_b = inside_q ? was_b_q : s_axis_b_tvalid && !(s_axis_a_tvalid && was_b_q);
  assign valid = from_b ? s_axis_b_tvalid : s_axis_a_tvalid;
  assign last = from_b ? s_axis_b_tlast : s_axis_a_tlast;
  assign s_axis_a_tready = ready && !from_b;
  assign s_axis_b_tready = ready && from_b;

  always_ff @(posedge clk) begin
    if (ready && valid) begin
      inside_q <= !last;
      was_b_q  <= from_b;
    end
    if (rst) begin
      inside_q <= 1'b0;
      was_b_q  <= 1'b0;
    end
  end

  axis_reg #(
      .DataW(DataW + 2)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata (from_b ? {s_axis_b_tuser, last, s_axis_b_tdata} : {s_axis_a_tuser, last, s_axis_a_tdata}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
