// Register slice for one stream: one cycle of latency, full throughput, tready and tvalid both from registers.
// Does not look at its data: callers concatenate tlast, tkeep and tuser into tdata.
module axis_reg #(
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

  logic [DataW-1:0] data_q, skid_q;
  logic valid_q, skid_valid_q;

  assign s_axis_tready = !skid_valid_q;
  assign m_axis_tdata  = data_q;
  assign m_axis_tvalid = valid_q;

  always_ff @(posedge clk) begin
    if (m_axis_tready || !valid_q) begin
      data_q <= skid_valid_q ? skid_q : s_axis_tdata;
      valid_q <= skid_valid_q || s_axis_tvalid;
      skid_valid_q <= 1'b0;
    end else if (s_axis_tvalid && s_axis_tready) begin
      skid_valid_q <= 1'b1;
    end
    if (s_axis_tready) skid_q <= s_axis_tdata;

    if (rst) begin
      valid_q <= 1'b0;
      skid_valid_q <= 1'b0;
    end
  end

endmodule
