// Passes the items of two streams on as one, in turn where both wait. For items of one beat. Every GroupW bits have their own copy of what selects
// them, so that none drives more; all copies are always equal.
module axis_merge #(
    parameter int unsigned DataW = 80,
    parameter int unsigned GroupW = 128
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

  localparam int unsigned GROUPS = (DataW + GroupW - 1) / GroupW;

  logic [GROUPS-1:0] from_b;  // the next item comes from b, if there is one
  (* keep, dont_merge *)logic [GROUPS-1:0] was_b_q;  // the last one did
  logic [DataW-1:0] data;
  logic ready;

  assign s_axis_a_tready = ready && !from_b[0];
  assign s_axis_b_tready = ready && from_b[0];

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    assign from_b[g] = was_b_q[g] ? !s_axis_a_tvalid : s_axis_b_tvalid;
    assign data[AT+:WIDTH] = from_b[g] ? s_axis_b_tdata[AT+:WIDTH] : s_axis_a_tdata[AT+:WIDTH];

    always_ff @(posedge clk) begin
      if (ready && (s_axis_a_tvalid || s_axis_b_tvalid)) was_b_q[g] <= from_b[g];
      if (rst) was_b_q[g] <= 1'b0;
    end
  end

  axis_reg #(
      .DataW(DataW)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata (data),
      .s_axis_tvalid(s_axis_a_tvalid || s_axis_b_tvalid),
      .s_axis_tready(ready),
      .m_axis_tdata,
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
