// Gives every item of one stream to each of the sinks named in its mask (tuser); the next item starts when all have taken it.
// Sinks may take an item in any order and in different cycles.
module axis_fork #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Sinks = 2
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [Sinks-1:0] s_axis_tuser,   // bit k: sink k takes this item; at least one
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,   // the same for all
    output logic [Sinks-1:0] m_axis_tvalid,
    input  logic [Sinks-1:0] m_axis_tready
);

  logic [Sinks-1:0] mask, taken, taken_q;
  logic valid, done;

  axis_reg #(
      .DataW(DataW + Sinks)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_tuser, s_axis_tdata}),
      .s_axis_tvalid,
      .s_axis_tready,
      .m_axis_tdata ({mask, m_axis_tdata}),
      .m_axis_tvalid(valid),
      .m_axis_tready(done)
  );

  assign m_axis_tvalid = {Sinks{valid}} & mask & ~taken_q;
  assign taken = taken_q | (m_axis_tvalid & m_axis_tready);
  assign done = valid && (taken == mask);

  always_ff @(posedge clk) begin
    taken_q <= done ? '0 : taken;
    if (rst) taken_q <= '0;
  end

endmodule
