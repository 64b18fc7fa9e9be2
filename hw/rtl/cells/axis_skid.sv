// Skid buffer for one stream: no latency while the sink is ready, tready from a register.
// Cuts the path of tready only; tvalid and tdata pass combinationally. For both, use axis_reg.
// Every GroupW bits of data have their own copy of the control, so that none drives more; all copies are always equal.
module axis_skid #(
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

  logic [DataW-1:0] skid_q;
  logic skid_valid_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] skid_valids_q;

  assign skid_valid_q  = skid_valids_q[0];
  assign s_axis_tready = !skid_valid_q;
  assign m_axis_tvalid = skid_valid_q || s_axis_tvalid;

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    assign m_axis_tdata[AT+:WIDTH] = skid_valids_q[g] ? skid_q[AT+:WIDTH] : s_axis_tdata[AT+:WIDTH];

    always_ff @(posedge clk) begin
      if (!skid_valids_q[g]) skid_q[AT+:WIDTH] <= s_axis_tdata[AT+:WIDTH];
      skid_valids_q[g] <= (skid_valids_q[g] || s_axis_tvalid) && !m_axis_tready;
      if (rst) skid_valids_q[g] <= 1'b0;
    end
  end

endmodule
