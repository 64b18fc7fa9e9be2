// Gives every item of one stream to each of the sinks named in its mask (tuser); the next item starts when all have taken it.
// Sinks may take an item in any order and in different cycles. A register slice: one cycle of latency, full throughput.
// Every GroupW bits of data have their own copy of the control, so that none drives more; all copies are always equal.
module axis_fork #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Sinks = 2,
    parameter int unsigned GroupW = 128
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

  localparam int unsigned GROUPS = (DataW + GroupW - 1) / GroupW;

  logic [DataW-1:0] data_q, skid_q;
  // Sinks that have not taken the item; none: no item
  (* keep, dont_merge *)logic [GROUPS-1:0][Sinks-1:0] waits_q, skid_waits_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] skid_valids_q;

  assign s_axis_tready = !skid_valids_q[0];
  assign m_axis_tdata  = data_q;
  assign m_axis_tvalid = waits_q[0];

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    logic [Sinks-1:0] left;
    assign left = waits_q[g] & ~m_axis_tready;

    always_ff @(posedge clk) begin
      waits_q[g] <= left;
      if (left == '0) begin
        data_q[AT+:WIDTH] <= skid_valids_q[g] ? skid_q[AT+:WIDTH] : s_axis_tdata[AT+:WIDTH];
        waits_q[g] <= skid_valids_q[g] ? skid_waits_q[g] : s_axis_tuser & {Sinks{s_axis_tvalid}};
        skid_valids_q[g] <= 1'b0;
      end else if (s_axis_tvalid) begin
        skid_valids_q[g] <= 1'b1;
      end
      if (!skid_valids_q[g]) begin
        skid_q[AT+:WIDTH] <= s_axis_tdata[AT+:WIDTH];
        skid_waits_q[g]   <= s_axis_tuser;
      end

      if (rst) begin
        waits_q[g] <= '0;
        skid_valids_q[g] <= 1'b0;
      end
    end
  end

endmodule
