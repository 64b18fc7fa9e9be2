// Skid buffer for one stream: no latency while the sink is ready, tready from a register.
// Cuts the path of tready only; tvalid and tdata pass combinationally. For both, use axis_reg.
module axis_skid #(
    parameter int unsigned DataW = 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  logic [DataW-1:0] skid_q;
  logic skid_valid_q;

  assign s_axis_tready = !skid_valid_q;
  assign m_axis_tdata  = skid_valid_q ? skid_q : s_axis_tdata;
  assign m_axis_tvalid = skid_valid_q || s_axis_tvalid;

  always_ff @(posedge clk) begin
    if (s_axis_tready) skid_q <= s_axis_tdata;
    skid_valid_q <= m_axis_tvalid && !m_axis_tready;
    if (rst) skid_valid_q <= 1'b0;
  end

endmodule
