// Passes the items of two streams on as one, in turn where both wait. For items of one beat.
module axis_merge #(
    parameter int unsigned DataW = 80
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_a_tdata,
    input  logic             s_axis_a_tvalid,
    output logic             s_axis_a_tready,

    input  logic [DataW-1:0] s_axis_b_tdata,
    input  logic             s_axis_b_tvalid,
    output logic             s_axis_b_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  logic from_b, was_b_q, ready;  // the next item, and the last one, come from b

  assign from_b = s_axis_b_tvalid && !(s_axis_a_tvalid && was_b_q);
  assign s_axis_a_tready = ready && !from_b;
  assign s_axis_b_tready = ready && from_b;

  axis_reg #(
      .DataW(DataW)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata (from_b ? s_axis_b_tdata : s_axis_a_tdata),
      .s_axis_tvalid(s_axis_a_tvalid || s_axis_b_tvalid),
      .s_axis_tready(ready),
      .m_axis_tdata,
      .m_axis_tvalid,
      .m_axis_tready
  );

  always_ff @(posedge clk) begin
    if (ready && (s_axis_a_tvalid || s_axis_b_tvalid)) was_b_q <= from_b;
    if (rst) was_b_q <= 1'b0;
  end

endmodule
