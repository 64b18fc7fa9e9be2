// Register between two steps of bd_gen: it holds an item, and behind it an end, which has no data. So the step before may end a frame
// and go on with the next one while the step behind works on the item, which stays. tvalid is from a register.
// Every GroupW bits of data have their own copy of the control, so that none drives more; all copies are always equal.
module bd_reg #(
    parameter int unsigned DataW = 8,
    parameter int unsigned GroupW = 128
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic             s_axis_tuser,   // an end: its data do not count
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tuser,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam int unsigned GROUPS = (DataW + GroupW - 1) / GroupW;

  logic [DataW-1:0] data_q;
  logic end_q, behind_q, push;  // the first is an end; one waits behind it
  (* keep, dont_merge *)logic [GROUPS-1:0] valids_q;

  assign s_axis_tready = !valids_q[0] || (s_axis_tuser && !behind_q);
  assign m_axis_tdata = data_q;
  assign m_axis_tuser = end_q;
  assign m_axis_tvalid = valids_q[0];
  assign push = s_axis_tvalid && s_axis_tready;

  always_ff @(posedge clk) begin
    if (!valids_q[0]) end_q <= s_axis_tuser;
    else if (m_axis_tready) end_q <= 1'b1;  // what is behind it
    if (valids_q[0]) behind_q <= !m_axis_tready && (push || behind_q);
    if (rst) behind_q <= 1'b0;
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    always_ff @(posedge clk) begin
      if (!valids_q[g]) data_q[AT+:WIDTH] <= s_axis_tdata[AT+:WIDTH];
      valids_q[g] <= push || (valids_q[g] && (!m_axis_tready || behind_q));
      if (rst) valids_q[g] <= 1'b0;
    end
  end

endmodule
