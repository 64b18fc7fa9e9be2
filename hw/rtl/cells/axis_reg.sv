// Register slice for one stream: one cycle of latency, full throughput, tready and tvalid both from registers.
// Does not look at its data: callers concatenate tlast, tkeep and tuser into tdata.
// Every GroupW bits of data have their own copy of the control, so that none drives more; all copies are always equal.
module axis_reg #(
    parameter int unsigned DataW = 8,
    parameter int unsigned GroupW = 128
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

  localparam int unsigned GROUPS = (DataW + GroupW - 1) / GroupW;

  logic [DataW-1:0] data_q, skid_q;
  logic valid_q, skid_valid_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] valids_q, skid_valids_q;

  assign valid_q = valids_q[0];
  assign skid_valid_q = skid_valids_q[0];
  assign s_axis_tready = !skid_valid_q;
  assign m_axis_tdata = data_q;
  assign m_axis_tvalid = valid_q;

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    always_ff @(posedge clk) begin
      if (m_axis_tready || !valids_q[g]) begin
        data_q[AT+:WIDTH] <= skid_valids_q[g] ? skid_q[AT+:WIDTH] : s_axis_tdata[AT+:WIDTH];
        valids_q[g] <= skid_valids_q[g] || s_axis_tvalid;
        skid_valids_q[g] <= 1'b0;
      end else if (s_axis_tvalid) begin
        skid_valids_q[g] <= 1'b1;
      end
      if (!skid_valids_q[g]) skid_q[AT+:WIDTH] <= s_axis_tdata[AT+:WIDTH];

      if (rst) begin
        valids_q[g] <= 1'b0;
        skid_valids_q[g] <= 1'b0;
      end
    end
  end

endmodule
