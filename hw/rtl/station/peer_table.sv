// What roce_rx asks of a QP: whether it is there, and who may speak for its receiver. Written with the QP table.
module peer_table
  import roce_pkg::*;
#(
    parameter int unsigned NumQp = 16
) (
    input logic clk,
    input logic rst,

    // Writes to the QP table, as roce_tx takes them
    input qp_write_t qp_write_i,
    input logic      qp_write_valid_i,

    // A QP, a cycle after its index; 0 outside the table
    input  logic [ 7:0] index_i,
    output logic        enabled_o,
    output logic        rc_o,
    output logic [31:0] peer_ip_o,
    output logic [15:0] pkey_o
);

  if (NumQp < 1 || NumQp > 256) begin : gen_check
    $error("%m: NumQp = %0d must be 1 to 256", NumQp);
  end

  localparam int unsigned INDEX_W = NumQp > 1 ? $clog2(NumQp) : 1;
  typedef logic [INDEX_W-1:0] index_t;

  typedef struct packed {
    logic        rc;
    logic [31:0] ip;
    logic [15:0] pkey;
  } peer_t;

  function automatic logic exists(input logic [7:0] index);
    return 9'(index) < 9'(NumQp);
  endfunction

  peer_t peers[NumQp];
  peer_t peer_q;
  logic [NumQp-1:0] enabled_q;

  always_ff @(posedge clk) begin
    if (qp_write_valid_i && exists(qp_write_i.index)) begin
      peers[index_t'(qp_write_i.index)] <= '{
          rc: qp_write_i.qp.service == RC,
          ip: qp_write_i.qp.path.dst_ip,
          pkey: qp_write_i.qp.path.pkey
      };
      enabled_q[index_t'(qp_write_i.index)] <= qp_write_i.qp.enabled;
    end
    peer_q <= peers[index_t'(index_i)];
    enabled_o <= exists(index_i) && enabled_q[index_t'(index_i)];
    if (rst) enabled_q <= '0;
  end

  assign rc_o = peer_q.rc;
  assign peer_ip_o = peer_q.ip;
  assign pkey_o = peer_q.pkey;

  logic unused;
  assign unused = ^qp_write_i;

endmodule
